// The runtimes' files, which every sandbox has below /opt/glovebox. They are embedded in this
// program, so that they cannot be of another version.
#pragma once

#include <span>
#include <string_view>

namespace glovebox::launcher {

struct RuntimeFile {
  const char* path;  // below the layer's root
  std::string_view bytes;
};
std::span<const RuntimeFile> runtime_files();

}  // namespace glovebox::launcher
