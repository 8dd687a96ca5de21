// The access tokens of sandboxes, which admit E2B's clients to a sandbox's agent without an API
// key. A token is derived from the sandbox's id and the server's secret: it needs no place in the
// store and is the same after a restart and after a pause.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::e2b {

class AccessTokens {
 public:
  // Without a secret no token is valid, not even an empty one.
  explicit AccessTokens(std::string secret) : secret_(std::move(secret)) {}

  // "ea_" and 64 hex digits; empty without a secret.
  std::string token_of(std::string_view sandbox_id) const;
  // In constant time.
  bool is_valid(std::string_view sandbox_id, std::string_view token) const;

 private:
  const std::string secret_;
};

}  // namespace glovebox::e2b
