// The time between a sealed sandbox and its caller: the agent waits, with a runtime beside it if
// one was asked for, until the launcher hands over the caller's socket.
#pragma once

#include <optional>

#include "base/unique_fd.h"
#include "guest/agent/run/runtime.h"
#include "model/limits.h"

namespace glovebox::agent {

struct Taken {
  UniqueFd link;
  Limits limits;
  bool network_up = false;
};
// Tells the launcher when the runtime is ready. Nothing: the launcher is gone, or the runtime is
// not what it should be or has died, and so must the sandbox.
std::optional<Taken> wait_until_taken(int launcher, std::optional<Runtime>& runtime,
                                      bool change_user);

}  // namespace glovebox::agent
