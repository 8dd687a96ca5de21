// The runtimes' own files, which every sandbox has below /opt/glovebox. They travel inside this
// program, so that there is nothing beside it that could be another version.
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
