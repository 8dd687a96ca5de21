// Keys, the projects they belong to, and the secret that a client shows. The secret itself is never
// stored, only its SHA-256.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/id.h"
#include "base/result.h"

namespace glovebox::store {

struct KeyTag {
  static constexpr std::string_view kPrefix = "ky";
  static constexpr const char* kWhat = "key";
};
using KeyId = StrongId<KeyTag>;

inline constexpr std::string_view kKeyPrefix = "gbx_";  // of every secret
inline constexpr std::string_view kDefaultProject = "default";

// [a-z0-9][a-z0-9-]{0,62}
bool is_project_name(std::string_view name);

// Zero: no limit.
struct KeyLimits {
  std::uint32_t max_in_flight = 0;
  std::uint32_t runs_per_minute = 0;
  std::uint64_t max_memory_bytes = 0;  // of all its runs at once
  bool operator==(const KeyLimits&) const = default;
};

enum class KeyRole : std::uint8_t { kUser = 0, kAdmin = 1 };

using Digest = std::array<unsigned char, 32>;

struct KeyRecord {
  KeyId id = KeyId::make();
  std::string project{};
  std::string name{};  // for people
  KeyRole role = KeyRole::kUser;
  Digest digest{};  // SHA-256 of the secret's 40 hex digits
  KeyLimits limits{};
  // Milliseconds since 1970, UTC.
  std::int64_t created_ms = 0;
  std::optional<std::int64_t> revoked_ms{};
  std::optional<std::int64_t> last_used_ms{};  // to the minute or so
};

struct NewKey {
  std::string project{kDefaultProject};  // made if there is none of that name
  std::string name{};                    // at most 100 bytes, no control characters
  KeyRole role = KeyRole::kUser;
  KeyLimits limits{};
};

struct CreatedKey {
  KeyRecord record;
  std::string secret{};  // "gbx_" and 40 hex digits; this is the only time it is seen
};

// What a valid secret proves.
struct Principal {
  KeyId key;
  std::string project{};
  std::string name{};
  KeyRole role = KeyRole::kUser;
  KeyLimits limits{};

  bool is_admin() const { return role == KeyRole::kAdmin; }
};

// "gbx_" and 20 random bytes as hex.
std::string make_secret();
// Of the 40 hex digits behind "gbx_"; nothing when it is not of that form.
std::optional<Digest> digest_of_secret(std::string_view presented);

// What is wrong with it, if anything.
Result<> check_new_key(const NewKey& key);

}  // namespace glovebox::store
