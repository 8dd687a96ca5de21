// 32 random bytes in a file beside the database, created at the first start. Access tokens of
// sandboxes are derived from them, so that tokens stay valid after a restart and need not be
// stored.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::store {

// Blocks: only for the program's start. kProtocol when the file is not what we wrote.
Result<std::string> server_secret(const std::string& directory);

}  // namespace glovebox::store
