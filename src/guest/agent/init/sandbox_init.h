// The first process of a sandbox, from clone() until its walls are up: it builds the sandbox's view
// of files, processes and network from what the launcher passes, reports, and becomes the agent.
#pragma once

#include "base/unique_fd.h"

namespace glovebox::agent {

// `go` is readable once the user namespace is mapped; `setup` leads to the launcher, which hands
// over the client's socket when the sandbox is taken. Never returns.
[[noreturn]] void run_sandbox_init(UniqueFd go, UniqueFd setup, bool own_slice);

}  // namespace glovebox::agent
