// Extended attributes that a snapshot keeps: the users' own, and the capabilities of programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace glovebox::agent {

using ExtendedAttributes = std::vector<std::pair<std::string, std::string>>;

// What cannot be read is left out.
ExtendedAttributes read_attributes(int fd);
// What is not of the kinds above, or not possible here, is passed over; a full disk is an error.
Result<> write_attributes(int fd, const ExtendedAttributes& attributes);

}  // namespace glovebox::agent
