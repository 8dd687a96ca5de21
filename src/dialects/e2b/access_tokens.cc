#include "dialects/e2b/access_tokens.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <span>

#include "base/constant_time.h"
#include "base/hex.h"

namespace glovebox::e2b {
namespace {

constexpr std::string_view kTokenPrefix = "ea_";

}  // namespace

std::string AccessTokens::token_of(std::string_view sandbox_id) const {
  const std::string text = "envd:" + std::string(sandbox_id);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (secret_.empty() || ::HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
                                reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                digest, &size) == nullptr) {
    return {};
  }
  return std::string(kTokenPrefix) + hex_encode(std::span(digest, size));
}

bool AccessTokens::is_valid(std::string_view sandbox_id, std::string_view token) const {
  const std::string expected = token_of(sandbox_id);
  return !expected.empty() && equal_in_constant_time(token, expected);
}

}  // namespace glovebox::e2b
