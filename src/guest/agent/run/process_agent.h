// The agent of the process engine: started by the launcher as an ordinary user, it shuts itself in
// with Landlock, reports, and serves as the jail's agent does.
#pragma once

namespace glovebox::agent {

// Returns the exit status.
int run_process_agent(int launcher_socket, int link_socket);

}  // namespace glovebox::agent
