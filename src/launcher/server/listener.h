// The launcher's own address on this host.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::launcher {

// A socket at `path` (0600). A stale one is replaced, a live one is an error.
Result<UniqueFd> listen_at(const std::string& path);

}  // namespace glovebox::launcher
