// Refusals as answers. The status says who can change it: 429 is the caller's own limit, 503 is
// the host's; both say when to try again.
#pragma once

#include "base/error.h"
#include "http/message.h"
#include "store/key_usage.h"

namespace glovebox::routing {

// A run or sandbox that the planner or the node refused.
http::Response refuse_run(const Error& error);
// A request beyond its key's limits.
http::Response refuse_run(const store::Refusal& refusal);

// A client that left before its answer: the log and the figures have it.
http::Response refuse_gone_client();

// Packages that could not be prepared: the caller's fault (422, with the installer's output), the
// administrator's policy, or the host's state.
http::Response refuse_packages(const Error& error);

}  // namespace glovebox::routing
