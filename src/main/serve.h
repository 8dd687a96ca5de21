// `glovebox-server serve`: the process that parses HTTP. Started by the supervisor as root (or as
// the one user), unprivileged and filtered before it reads a byte of a client's.
#pragma once

#include <string>
#include <vector>

namespace glovebox::server {

// The exit status.
int serve_command(const std::vector<std::string>& args);

}  // namespace glovebox::server
