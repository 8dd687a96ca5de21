// The commands of `glovebox`: one file each in commands/, one line each in commands.cc.
#pragma once

#include <span>
#include <string>

namespace glovebox::cli {

// `args` is what follows the program's name. Returns the exit status.
int run_command_line(std::span<const std::string> args);

}  // namespace glovebox::cli
