// Secrets that stand for a key in a browser: the console's sessions (a cookie) and the one-time
// links that begin them. Only their SHA-256 is stored. None of them outlives its key: what a secret
// proves is looked up at each use.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "store/key.h"

namespace glovebox::store {

enum class SignInKind : std::uint8_t { kSession = 1, kLink = 2 };

struct SignIn {
  std::string digest{};  // SHA-256 of the secret, as hex
  SignInKind kind = SignInKind::kSession;
  KeyId key = KeyId::make();
  // Milliseconds since 1970, UTC.
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;
};

struct NewSignIn {
  std::string digest{};
  SignInKind kind = SignInKind::kSession;
  KeyId key = KeyId::make();
  std::chrono::seconds lifetime{0};
};

// Of one key and kind; the oldest one makes room for another.
inline constexpr std::size_t kMaxSignInsPerKey = 32;

}  // namespace glovebox::store
