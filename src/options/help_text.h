// What `COMMAND --help` prints, made of the same description that the parser reads.
#pragma once

#include <string>

#include "options/command_line.h"

namespace glovebox::options {

// Usage, description, subcommands and options in two columns, and the notes. Wrapped at 80 columns.
std::string help_text(const CommandLine& command);

// "glovebox key COMMAND [OPTIONS]", without "usage: ".
std::string usage_of(const CommandLine& command);

}  // namespace glovebox::options
