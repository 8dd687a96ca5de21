// What the commands that talk to a server print. Names, messages and errors come from the server,
// which may be anybody's: nothing of them reaches a terminal as a control character.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "wire/utf8.h"

namespace glovebox::client {

using wire::printable;  // part of a message may be a guest's or a file's

// A message as lines for a terminal: those of an installer's words are many.
std::string printable_lines(std::string_view message);

// To standard output, as it is.
void print_text(const std::string& text);

// Print "glovebox: ..." and return the exit status for it.
int usage_error(const std::string& message);  // 2
int failure(const Error& error);              // 125: Glovebox failed, or there is no server
int refused(const std::string& message);      // 1: the server said no

// Columns as wide as their widest cell; the first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace glovebox::client
