#include "store/sha256.h"

#include <openssl/evp.h>

#include <span>

#include "base/assert.h"
#include "base/hex.h"

namespace glovebox::store {

std::string sha256_hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  GBX_ASSERT(done == 1 && size == 32);
  return hex_encode(std::span(digest, size));
}

}  // namespace glovebox::store
