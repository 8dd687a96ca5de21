#include "packages/builds/stream_hash.h"

#include <openssl/evp.h>

#include <span>

#include "base/assert.h"
#include "base/hex.h"

namespace glovebox::packages {

StreamHash::StreamHash() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  GBX_ASSERT(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void StreamHash::add(std::string_view bytes) {
  GBX_ASSERT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string StreamHash::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  GBX_ASSERT(EVP_DigestFinal_ex(context_.get(), digest, &size) == 1 && size == 32);
  return hex_encode(std::span(digest, size));
}

}  // namespace glovebox::packages
