// Encodes tar headers, padding and the end of an archive.
#pragma once

#include <string>

#include "wire/tar/tar_entry.h"

namespace glovebox::agent {

// Everything before the content: a pax header where the classic fields do not hold it, and the
// entry's own. Fails never: what does not fit goes into pax, which has no bounds.
std::string tar_header(const wire::TarEntry& entry);
// Behind that much content.
std::string tar_padding(std::uint64_t size);
// Behind the last entry.
std::string tar_end();

}  // namespace glovebox::agent
