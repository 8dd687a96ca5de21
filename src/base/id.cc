#include "base/id.h"

#include <sys/random.h>

#include "base/assert.h"

namespace glovebox {

std::string random_label(std::size_t length) {
  static constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string label;
  label.reserve(length);
  unsigned char bytes[64];
  while (label.size() < length) {
    const ssize_t got = ::getrandom(bytes, sizeof bytes, 0);
    GBX_ASSERT(got == static_cast<ssize_t>(sizeof bytes));
    for (const unsigned char byte : bytes) {
      // 252 is the largest multiple of 36 in a byte: above it some letters would be likelier.
      if (byte >= 252 || label.size() == length) continue;
      label.push_back(kAlphabet[byte % 36]);
    }
  }
  return label;
}

}  // namespace glovebox
