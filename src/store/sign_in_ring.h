// The console's sessions and links in memory, so that a request with a cookie touches no disk. What
// is ended here is refused at once. Thread-safe, like KeyRing.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/sign_in.h"

namespace glovebox::store {

class SignInRing {
 public:
  // Returns the digests of those that had to make room.
  std::vector<std::string> add(const SignIn& sign_in);
  // Nothing: there is none of this kind, or it has expired.
  std::optional<SignIn> find(const std::string& digest, SignInKind kind, std::int64_t now_ms) const;
  // The same, and removes it: of two callers only one gets it.
  std::optional<SignIn> take(const std::string& digest, SignInKind kind, std::int64_t now_ms);
  // All of a key; returns their digests.
  std::vector<std::string> take_of(const KeyId& key);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, SignIn> by_digest_;
};

}  // namespace glovebox::store
