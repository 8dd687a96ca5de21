#include "base/utf8.h"

#include <algorithm>

#include "base/hex.h"

namespace glovebox {

std::size_t utf8_character_size(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;   // overlong below
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;  // surrogates above
    return byte(1) >= low && byte(1) <= high && continues(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;  // past U+10FFFF above
    return byte(1) >= low && byte(1) <= high && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = utf8_character_size(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = utf8_character_size(bytes);
    if (size == 0) {
      text += "\xef\xbf\xbd";
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
  }
  return text;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMaxShown = 4000;
  std::string shown;
  std::size_t read = 0;
  while (!text.empty()) {
    const std::size_t size = utf8_character_size(text);
    const std::string_view one = text.substr(0, std::max<std::size_t>(size, 1));
    read += one.size();
    if (read > kMaxShown) break;
    const auto lead = static_cast<unsigned char>(one[0]);
    // The C1 controls are 0xc2 0x80-0x9f in UTF-8.
    const bool is_c1 = size == 2 && lead == 0xc2 && static_cast<unsigned char>(one[1]) < 0xa0;
    if (size == 0 || lead < 0x20 || lead == 0x7f || is_c1) {
      for (const char c : one) {
        shown += "\\x";
        append_hex(shown, static_cast<unsigned char>(c));
      }
    } else {
      shown += one;
    }
    text.remove_prefix(one.size());
  }
  return shown;
}

}  // namespace glovebox
