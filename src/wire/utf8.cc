#include "wire/utf8.h"

#include <algorithm>
#include <cstdint>

namespace glovebox::wire {
namespace {

// Length of the well-formed character at the front, or 0: no overlong forms, no surrogates,
// nothing past U+10FFFF.
std::size_t character_at(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;
    return byte(1) >= low && byte(1) <= high && continues(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    return byte(1) >= low && byte(1) <= high && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = character_at(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = character_at(bytes);
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

std::string base64(std::string_view bytes) {
  static constexpr char kLetters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += at + i > bytes.size() ? '=' : kLetters[group >> (18 - 6 * i) & 63];
    }
  }
  return text;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMostShown = 4000;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string shown;
  std::size_t read = 0;
  while (!text.empty()) {
    const std::size_t size = character_at(text);
    const std::string_view one = text.substr(0, std::max<std::size_t>(size, 1));
    read += one.size();
    if (read > kMostShown) break;
    const auto lead = static_cast<unsigned char>(one[0]);
    // The C1 controls are 0xc2 0x80-0x9f in UTF-8.
    const bool is_c1 = size == 2 && lead == 0xc2 && static_cast<unsigned char>(one[1]) < 0xa0;
    if (size == 0 || lead < 0x20 || lead == 0x7f || is_c1) {
      for (const char c : one) {
        const auto byte = static_cast<unsigned char>(c);
        shown += "\\x";
        shown += kHex[byte >> 4];
        shown += kHex[byte & 15];
      }
    } else {
      shown += one;
    }
    text.remove_prefix(one.size());
  }
  return shown;
}

}  // namespace glovebox::wire
