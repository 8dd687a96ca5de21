// The agent of the process engine: the launcher starts it as an ordinary user; it restricts itself
// with Landlock, reports, and serves like the jail's agent.
#pragma once

namespace glovebox::agent {

// Returns the exit status.
int run_process_agent(int launcher_socket, int link_socket);

}  // namespace glovebox::agent
