#include "cli/print.h"

#include <cstdio>

#include "model/outcome.h"
#include "wire/utf8.h"

namespace glovebox::cli {

std::string printable(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  const bool utf8 = wire::is_utf8(text);
  std::string shown;
  for (const char c : text.substr(0, 2000)) {
    const auto byte = static_cast<unsigned char>(c);
    // The C1 controls hide in UTF-8 as 0xc2 0x80-0x9f; without the lead byte they are broken text.
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8) || byte == 0xc2) {
      shown += "\\x";
      shown += kHex[byte >> 4];
      shown += kHex[byte & 15];
    } else {
      shown += c;
    }
  }
  return shown;
}

int usage_error(const std::string& message) {
  std::fprintf(stderr, "glovebox: %s\n", printable(message).c_str());
  return kExitUsage;
}

int failure(const Error& error) {
  std::fprintf(stderr, "glovebox: %s\n", printable(error.message()).c_str());
  return kExitGloveboxFailed;
}

}  // namespace glovebox::cli
