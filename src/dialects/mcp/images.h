// Pictures of a stranger's: told by their first bytes, and gone through from the first to the last
// one. Pixels are not looked at: that is for whoever shows them.
#pragma once

#include <string_view>

namespace glovebox::mcp {

// "image/png" by its first bytes; also JPEG, GIF and WebP. Empty: none of those.
std::string_view image_type(std::string_view bytes);

// Whether this is a whole picture of that type: its parts follow each other as they must, it has a
// size, and it ends where it says. After a JPEG's end other bytes may follow, as cameras write
// them.
bool is_image(std::string_view bytes, std::string_view type);

}  // namespace glovebox::mcp
