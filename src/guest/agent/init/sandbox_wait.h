// Waits in a sealed sandbox, with a runtime if one was asked for, until the launcher passes the
// client's socket.
#pragma once

#include <optional>

#include "base/unique_fd.h"
#include "guest/agent/run/runtime.h"
#include "model/limits.h"

namespace glovebox::agent {

struct TakenSandbox {
  UniqueFd link;
  Limits limits;
  bool network_up = false;
};
// Tells the launcher when the runtime is ready. Nothing: the launcher has gone, or the runtime died
// or is not sealed, and the sandbox has to end.
std::optional<TakenSandbox> wait_until_taken(int launcher, std::optional<Runtime>& runtime,
                                             bool change_user);

}  // namespace glovebox::agent
