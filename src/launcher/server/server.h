// The launcher's loop: one thread, one poll. Takes requests from clients, watches sandboxes and
// their limits, and ends a client's sandboxes when the client goes.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/sandbox/sandbox_maker.h"

namespace glovebox::launcher {

// Either or both: a listening socket, and a client that is connected already. Without a listening
// socket it ends with that client. Returns when told to stop (SIGTERM, SIGINT) or when done; every
// sandbox is gone then. So it does when `owner`, its parent, has ended (0: whenever that is).
Result<> serve_clients(SandboxMaker& maker, std::uint32_t max_sandboxes, UniqueFd listener,
                       UniqueFd client, pid_t owner);

}  // namespace glovebox::launcher
