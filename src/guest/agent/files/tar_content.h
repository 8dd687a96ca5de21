// Writes the content of an archive's entry into a new file.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "wire/tar/tar_reader.h"

namespace glovebox::agent {

// From the file's beginning; what is all zeros becomes a hole. Returns how many bytes it has.
Result<std::uint64_t> write_content(int file, const wire::TarEntry& entry, wire::TarReader& reader);

}  // namespace glovebox::agent
