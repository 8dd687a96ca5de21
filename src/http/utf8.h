// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace glovebox::http {

// How many bytes the character at the front of `text` has; 0: it is not one. `text` is not empty.
std::size_t character_size(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace glovebox::http
