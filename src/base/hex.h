// Hexadecimal digits.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace glovebox {

// Two lower-case digits per byte.
std::string hex_encode(std::string_view bytes);
std::string hex_encode(std::span<const unsigned char> bytes);
// The two lower-case digits of one byte.
void append_hex(std::string& text, unsigned char byte);

// 0 to 15 for a digit of either case; -1 for any other character.
constexpr int hex_digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// [0-9a-f], for values with one spelling: ids, digests, tokens.
constexpr bool is_lower_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}
// Every character is [0-9a-f]; true for "".
constexpr bool is_lower_hex(std::string_view text) {
  for (const char c : text) {
    if (!is_lower_hex_digit(c)) return false;
  }
  return true;
}

}  // namespace glovebox
