// The first process of a sandbox, from its birth to the moment the walls stand: it builds the
// sandbox's own view of the world with what the launcher hands it, reports, and becomes the agent.
#pragma once

#include "base/unique_fd.h"

namespace glovebox::agent {

// `go` is readable once the user namespace is mapped; `setup` leads to the launcher, which hands
// over the client's socket when the sandbox is taken. Never returns.
[[noreturn]] void run_sandbox_init(UniqueFd go, UniqueFd setup, bool own_slice);

}  // namespace glovebox::agent
