// Hides what a fresh /proc still tells about the host, and makes its switches read-only.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::agent {

// `root` has proc mounted at root/proc and a null device at root/dev/null.
Result<> mask_proc_below(const std::string& root);

}  // namespace glovebox::agent
