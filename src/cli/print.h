// What the command line says on standard error: one line, safe to show on any terminal.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace glovebox::cli {

// Control characters and bytes that are not UTF-8 are shown as "\xNN": part of a message may be a
// guest's or a file's.
std::string printable(std::string_view text);

// Print "glovebox: ..." and return the exit status for it.
int usage_error(const std::string& message);
int failure(const Error& error);

}  // namespace glovebox::cli
