// Paths as E2B's clients write them: an empty path and "~" are the home directory, and relative
// paths are below it. Only the sandbox knows where it is, and reports absolute paths.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::e2b {

// For a file request: absolute, or relative to the user's home; never empty. kInvalidArgument: not
// a path.
Result<std::string> request_path(std::string_view given);

// Without "//", "/./" and a trailing slash. kResolved also removes "..", which is correct only
// where no component before it can be a symbolic link.
enum class Parents : bool { kKept, kResolved };
std::string clean_path(std::string_view path, Parents parents = Parents::kKept);

}  // namespace glovebox::e2b
