// Paths as E2B's clients write them: nothing is the home, "~" too, and what is not absolute is
// below it. Only the sandbox knows where that is, and says it in its answers.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::e2b {

// For a file request: absolute, or below the user's home; never empty. kInvalidArgument for what
// cannot be a path.
Result<std::string> request_path(std::string_view given);

// Without "//", "/./", a slash at the end; without ".." where `parents` is kTaken, which is only
// right where no component before it can be a link.
enum class Parents : bool { kLeft, kTaken };
std::string clean_path(std::string_view path, Parents parents = Parents::kLeft);

}  // namespace glovebox::e2b
