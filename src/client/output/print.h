// What the client commands print. Names and messages come from a server, which may be hostile:
// control characters in them never reach the terminal.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "options/command_line.h"

namespace glovebox::client {

// A message of several lines, such as an installer's output. Lines after the first are indented.
std::string printable_lines(std::string_view message);

void print(const std::string& text);  // to standard output, as it is

// Print "glovebox: ..." to standard error and return the exit status.
int usage_error(const std::string& message);     // 2
int failure(const Error& error);                 // 125: no server, or an internal failure
int server_refused(const std::string& message);  // 1: the server refused the request
// usage_error for kInvalidArgument, else failure.
int usage_error_or_failure(const Error& error);

// Parses the words of a command. After the help or a mistake was printed: the exit status.
std::optional<int> parse_arguments(const options::CommandLine& command,
                                   std::span<const std::string> words,
                                   options::Arguments& arguments);

// Columns as wide as their widest cell; the first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace glovebox::client
