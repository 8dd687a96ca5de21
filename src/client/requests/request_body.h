// A request body that `glovebox` or `sandbox-run` has prepared: a descriptor that this program
// inherits, named by --body-fd.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::client {

// Closes the descriptor.
Result<std::string> read_request_body(const std::string& fd_number);

}  // namespace glovebox::client
