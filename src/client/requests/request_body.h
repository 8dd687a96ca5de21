// The body of a request that the front made: it waits in a descriptor of ours, named by --body-fd.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::client {

// Closes the descriptor.
Result<std::string> read_body_file(const std::string& number);

}  // namespace glovebox::client
