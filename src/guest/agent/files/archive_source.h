// Unpacks an archive that arrives through the data pipe.
#pragma once

#include "base/result.h"
#include "guest/agent/files/helper_link.h"
#include "guest/agent/files/unpacker.h"

namespace glovebox::agent {

// At most `most` bytes of archive, and it must be committed. Counts in `link.done`.
Result<> unpack_archive(HelperLink& link, Unpacker& unpacker);

}  // namespace glovebox::agent
