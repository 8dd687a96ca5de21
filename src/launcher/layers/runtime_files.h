// The runtimes' files, which every sandbox has below /opt/glovebox. They are embedded in this
// program, so that they cannot be of another version.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace glovebox::launcher {

struct RuntimeFile {
  const char* path;  // below the layer's root
  std::string_view bytes;
};
std::span<const RuntimeFile> runtime_files();
// Of all their bytes, computed when this program was built.
std::uint64_t runtime_files_digest();

}  // namespace glovebox::launcher
