// What the command line says on standard error: one line, safe to show on any terminal.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"

namespace glovebox::cli {

// Print "glovebox: ..." and return the exit status for it.
int usage_error(const std::string& message);
int failure(const Error& error);

}  // namespace glovebox::cli
