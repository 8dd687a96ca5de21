#include "store/key.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/hex.h"

namespace glovebox::store {

namespace {

constexpr std::size_t kSecretBytes = 20;
constexpr std::size_t kMaxNameBytes = 100;
// A limit beyond these is a slip, and the list of starts in KeyUsage is as long as this.
constexpr std::uint32_t kMaxRunsPerMinute = 1'000'000;

}  // namespace

bool is_project_name(std::string_view name) {
  if (name.empty() || name.size() > 63 || name.front() == '-') return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  }
  return true;
}

std::string make_secret() {
  unsigned char bytes[kSecretBytes];
  // Up to 256 bytes come whole or not at all, once the kernel's generator is seeded.
  const ssize_t got = ::getrandom(bytes, sizeof bytes, 0);
  GBX_ASSERT(got == static_cast<ssize_t>(sizeof bytes));
  std::string secret = std::string(kKeyPrefix) + hex_encode(bytes);
  OPENSSL_cleanse(bytes, sizeof bytes);
  return secret;
}

std::optional<Digest> digest_of_secret(std::string_view presented) {
  if (presented.size() != kKeyPrefix.size() + 2 * kSecretBytes) return std::nullopt;
  if (!presented.starts_with(kKeyPrefix)) return std::nullopt;
  const std::string_view hex = presented.substr(kKeyPrefix.size());
  if (!is_lower_hex(hex)) return std::nullopt;
  Digest digest{};
  unsigned int length = 0;
  const int done =
      EVP_Digest(hex.data(), hex.size(), digest.data(), &length, EVP_sha256(), nullptr);
  GBX_ASSERT(done == 1 && length == digest.size());
  return digest;
}

Result<> check_new_key(const NewKey& key) {
  if (!is_project_name(key.project)) {
    return fail(Errc::kInvalidArgument,
                "a project name must be 1 to 63 of a-z, 0-9 and -, and not begin with -");
  }
  if (key.name.size() > kMaxNameBytes) {
    return fail(Errc::kInvalidArgument, "a key name must have at most 100 bytes");
  }
  for (const char c : key.name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return fail(Errc::kInvalidArgument, "a key name must not contain control characters");
    }
  }
  if (key.limits.runs_per_minute > kMaxRunsPerMinute) {
    return fail(Errc::kInvalidArgument, "runs per minute: at most 1000000, or 0 for no limit");
  }
  if (key.limits.max_memory_bytes > (1ull << 50)) {
    return fail(Errc::kInvalidArgument, "memory at once: at most 1 PiB, or 0 for no limit");
  }
  return {};
}

}  // namespace glovebox::store
