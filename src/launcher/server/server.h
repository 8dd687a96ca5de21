// The launcher as a server: puts the connections, the table of sandboxes, the handlers of requests
// and the event loop together.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/sandbox/sandbox_maker.h"

namespace glovebox::launcher {

// Serves the clients of a listening socket, a client that is connected already, or both; without a
// listening socket it ends with that client. Returns when it is told to stop (SIGTERM, SIGINT) or
// when `owner`, its parent, has exited (0: it may outlive its parent). Every sandbox is gone then.
// `when_idle`, if any, is called once.
Result<> serve_clients(SandboxMaker& maker, std::uint32_t max_sandboxes, UniqueFd listener,
                       UniqueFd client, pid_t owner, std::function<void()> when_idle);

}  // namespace glovebox::launcher
