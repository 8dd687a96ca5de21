#include "signin/session_cookie.h"

#include "base/id.h"
#include "store/sha256.h"

namespace glovebox::signin {
namespace {

std::string attributes(bool is_secure) {
  std::string text = "; Path=/; HttpOnly; SameSite=Strict";
  if (is_secure) text += "; Secure";
  return text;
}

}  // namespace

std::string cookie_name(bool is_secure, std::string_view instance) {
  if (is_secure) return "__Host-glovebox";
  return "glovebox-" +
         store::sha256_hex("glovebox console instance:" + std::string(instance)).substr(0, 12);
}

std::string set_cookie_text(std::string_view name, std::string_view value, bool is_secure,
                            std::chrono::seconds lifetime) {
  return std::string(name) + "=" + std::string(value) + attributes(is_secure) +
         "; Max-Age=" + std::to_string(lifetime.count());
}

std::string clear_cookie_text(std::string_view name, bool is_secure) {
  return std::string(name) + "=" + attributes(is_secure) + "; Max-Age=0";
}

std::string make_secret() { return random_label(kSecretLength); }

bool is_secret(std::string_view text) {
  if (text.size() != kSecretLength) return false;
  for (const char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) return false;
  }
  return true;
}

std::string digest_of(std::string_view secret) {
  return store::sha256_hex("glovebox sign-in:" + std::string(secret));
}

std::string csrf_token(std::string_view cookie) {
  return store::sha256_hex("glovebox console csrf:" + std::string(cookie));
}

}  // namespace glovebox::signin
