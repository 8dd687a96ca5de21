// Images from a sandbox, which are not trusted: their type is found by the first bytes, and their
// structure is checked from beginning to end. Pixels are not decoded; the client does that.
#pragma once

#include <string_view>

namespace glovebox::mcp {

// "image/png" by its first bytes; also JPEG, GIF and WebP. Empty: none of those.
std::string_view image_type(std::string_view bytes);

// Whether this is a complete image of that type: its parts follow each other as the format demands,
// it has a size, and it ends where it says. After the end of a JPEG other bytes may follow, as
// cameras write them.
bool is_image(std::string_view bytes, std::string_view type);

}  // namespace glovebox::mcp
