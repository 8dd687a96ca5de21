// The first process of a sandbox, from clone() until its walls are up: it builds the sandbox's view
// of files, processes and network from what the launcher passes, reports, and becomes the agent.
#pragma once

#include "base/unique_fd.h"
#include "guest/agent/init/proc_mask.h"

namespace glovebox::agent {

// `go` is readable once the user namespace is mapped; `setup` leads to the launcher, which hands
// over the client's socket when the sandbox is taken; `mask` is what it covers in its /proc, or
// null: then it looks itself. Never returns.
[[noreturn]] void run_sandbox_init(UniqueFd go, UniqueFd setup, bool own_slice,
                                   const ProcMask* mask);

}  // namespace glovebox::agent
