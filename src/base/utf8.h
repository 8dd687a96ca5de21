// UTF-8: validation, replacement of invalid bytes, and text that is safe to print. Output of a
// sandbox is bytes; JSON, WebSocket text frames and terminals need text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glovebox {

// Length in bytes of the well-formed character at the front of `text`; 0 if there is none. Rejects
// overlong forms, surrogates and everything past U+10FFFF.
std::size_t utf8_character_size(std::string_view text);

bool is_utf8(std::string_view bytes);

// Each byte that is not part of a well-formed character becomes U+FFFD.
std::string to_utf8(std::string_view bytes);

// For a terminal or a log: control characters and bytes that are not UTF-8 become "\xNN". Only the
// first 4000 bytes of `text` are shown.
std::string printable(std::string_view text);

}  // namespace glovebox
