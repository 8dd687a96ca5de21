// The broker: PID 1 of a nursery, the only process in it with capabilities. It creates empty
// sandboxes and zygotes at the launcher's request, and does nothing else. It exits with the
// launcher, and the kernel then kills every sandbox in the nursery.
#pragma once

namespace glovebox::agent {

// How many sandboxes are to be expected. kOne: nothing is prepared for later ones, which can be
// made all the same.
enum class Expects : bool { kOne, kMany };

// Serves the launcher's socket until it closes; returns the exit status.
int run_broker(int launcher_socket, Expects expects);

}  // namespace glovebox::agent
