// Cutting UTF-8 text between characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace glovebox {

// A byte in the middle of a character, or at its end.
constexpr bool is_utf8_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u;
}

// How many bytes to keep so that at most `most` are left and no character is split. Bytes that are
// not UTF-8 are cut at `most`.
constexpr std::size_t utf8_cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  // A character has at most three bytes after its first.
  for (std::size_t end = most, back = 0; back <= 3; --end, ++back) {
    if (!is_utf8_continuation(text[end])) return end;
    if (end == 0) break;
  }
  return most;
}

// Without the rest of a character that was cut at the front.
constexpr std::string_view skip_partial_character(std::string_view text) {
  for (int skipped = 0; skipped < 3 && !text.empty() && is_utf8_continuation(text.front());
       ++skipped) {
    text.remove_prefix(1);
  }
  return text;
}

}  // namespace glovebox
