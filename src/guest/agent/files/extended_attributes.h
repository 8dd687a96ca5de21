// Extended attributes that a snapshot keeps: the users' own, and the capabilities of programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace glovebox::agent {

using ExtendedAttributes = std::vector<std::pair<std::string, std::string>>;

// Attributes that cannot be read are left out.
ExtendedAttributes read_attributes(int fd);
// Other kinds, and those that cannot be set here, are skipped; a full disk is an error.
Result<> write_attributes(int fd, const ExtendedAttributes& attributes);

}  // namespace glovebox::agent
