// Removes a directory that somebody else filled: follows no link, and needs three descriptors
// however deep it is.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::sys {

// It is not an error if it is not there.
Result<> remove_tree(const std::string& path);

}  // namespace glovebox::sys
