// The manual page of a command (section 1), made of the same description that the parser reads.
#pragma once

#include <string>

#include "options/command_line.h"

namespace glovebox::options {

// In troff, for man(1). Its name is that of the command with dashes: "glovebox-key".
std::string man_page(const CommandLine& command);

}  // namespace glovebox::options
