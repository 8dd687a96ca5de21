// A layer that a server has had made: a read-only tree, owned by root, above the host's own files
// in the sandboxes of the templates that name it. The launcher keeps layers; it stores the server's
// note about a layer and never reads it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hex.h"

namespace glovebox {

inline constexpr std::size_t kLayerIdSize = 32;
inline constexpr std::size_t kMaxLayerNote = 16 * 1024;
inline constexpr std::size_t kMaxTemplateLayers = 4;  // of one template
inline constexpr const char* kLayerMountPoint =
    "/layer";  // where it is in a sandbox that makes or reads one

// 32 of [0-9a-f].
inline bool is_layer_id(std::string_view id) {
  return id.size() == kLayerIdSize && is_lower_hex(id);
}

struct LayerRecord {
  std::string id;
  std::uint64_t bytes = 0;    // of its files, as counted by its builder
  std::uint64_t entries = 0;  // files, directories and links
  std::string digest;         // SHA-256 of its tree as an archive, 64 hexadecimal digits
  std::int64_t made_ms = 0;   // since 1970
  std::int64_t used_ms = 0;   // when a sandbox was last made with it, to the minute
  bool in_use = false;        // by a template or a sandbox of this launcher or another
  std::string note;           // at most kMaxLayerNote bytes
  bool operator==(const LayerRecord&) const = default;
};

}  // namespace glovebox
