#include "base/hex.h"

namespace glovebox {

void append_hex(std::string& text, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  text += kDigits[byte >> 4];
  text += kDigits[byte & 15];
}

std::string hex_encode(std::span<const unsigned char> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) append_hex(text, byte);
  return text;
}

std::string hex_encode(std::string_view bytes) {
  return hex_encode(std::span(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

}  // namespace glovebox
