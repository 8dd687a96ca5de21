// What a sandbox asks to reach, compared with what the administrator allows.
#pragma once

#include "base/result.h"
#include "net/net_policy.h"

namespace glovebox::net {

// kPolicy, with what exceeds the ceiling and what the ceiling is. kInvalidArgument: more rules than
// a policy may have.
Result<> check_reach(const NetPolicy& asked, const NetCeiling& ceiling);

// Everything that may be asked for: what a client means that knows only "with" and "without".
NetPolicy all_allowed(const NetCeiling& ceiling);

}  // namespace glovebox::net
