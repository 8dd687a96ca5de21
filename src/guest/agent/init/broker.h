// The broker: PID 1 of a nursery, the only process in it with capabilities. It makes empty
// sandboxes when the launcher asks, and does nothing else; when the launcher goes, it goes, and
// the kernel takes every sandbox with it.
#pragma once

namespace glovebox::agent {

// Serves the launcher's socket until it closes; returns the exit status.
int run_broker(int launcher_socket);

}  // namespace glovebox::agent
