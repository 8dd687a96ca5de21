// Writes all of it, however many calls that takes.
#pragma once

#include <string_view>

#include "base/result.h"

namespace glovebox {

Result<> write_all(int fd, std::string_view bytes);

}  // namespace glovebox
