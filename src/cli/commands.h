// The commands of `glovebox`: one line each in commands.cc; those that need no server have a file
// in commands/, the others are in glovebox-client (src/client/commands/).
#pragma once

#include <span>
#include <string>

namespace glovebox::cli {

// `args` is what follows the program's name. Returns the exit status.
int run_command_line(std::span<const std::string> args);

}  // namespace glovebox::cli
