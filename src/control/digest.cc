#include "control/digest.h"

#include <openssl/evp.h>

#include "base/assert.h"

namespace glovebox::control {

std::string sha256_hex(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  GBX_ASSERT(done == 1 && size == 32);
  std::string text;
  text.reserve(64);
  for (unsigned i = 0; i < size; ++i) {
    text += kHex[digest[i] >> 4];
    text += kHex[digest[i] & 15];
  }
  return text;
}

}  // namespace glovebox::control
