// What the command line prints: errors as one line, with control characters escaped.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "options/command_line.h"

namespace glovebox::cli {

// Print "glovebox: ..." to standard error and return the exit status.
int usage_error(const std::string& message);  // 2
int failure(const Error& error);              // 125

// Parses the words of a command. After the help or a mistake was printed: the exit status.
std::optional<int> parse_arguments(const options::CommandLine& command,
                                   std::span<const std::string> words,
                                   options::Arguments& arguments);

}  // namespace glovebox::cli
