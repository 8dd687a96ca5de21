// Removes a directory with untrusted content: follows no symlink, and needs only three descriptors
// at any depth.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::sys {

// It is not an error if it is not there.
Result<> remove_tree(const std::string& path);

}  // namespace glovebox::sys
