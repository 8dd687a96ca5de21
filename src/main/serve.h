// `glovebox-server serve`: the process that parses HTTP. The supervisor starts it as root (or as
// the single user); it drops privileges and installs its filter before it reads any client data.
#pragma once

#include <string>
#include <vector>

namespace glovebox::server {

// The exit status.
int serve_command(const std::vector<std::string>& args);

}  // namespace glovebox::server
