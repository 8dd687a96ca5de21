// Covers the parts of a new /proc that reveal the host, and makes its settings read-only.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::agent {

// `root` has proc mounted at root/proc and a null device at root/dev/null.
Result<> mask_proc_below(const std::string& root);

}  // namespace glovebox::agent
