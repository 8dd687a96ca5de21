// 32 random bytes in a file beside the database, made at the first start: what tokens of sandboxes
// are made with, so that they hold after a restart and need no place of their own.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::store {

// Blocks: only for the program's start. kProtocol when the file is not what we wrote.
Result<std::string> server_secret(const std::string& directory);

}  // namespace glovebox::store
