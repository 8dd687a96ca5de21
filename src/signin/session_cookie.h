// The cookie of the console's session: its name, its attributes, and the CSRF token that belongs to
// it. The cookie's value is a random secret; only its SHA-256 is stored.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace glovebox::signin {

// Over HTTPS, "__Host-glovebox": browsers accept that name only from the host itself, for all its
// paths, without a Domain; no other name of the domain can set it. Plain loopback has no such
// protection (browsers refuse the prefix without Secure), and cookies there are shared by all
// ports: the name ends with a part of `instance`, so that two servers on one host do not overwrite
// each other's.
std::string cookie_name(bool is_secure, std::string_view instance);

// For the server's own paths only; never for scripts; ends with the session.
std::string set_cookie_text(std::string_view name, std::string_view value, bool is_secure,
                            std::chrono::seconds lifetime);
// Makes the browser forget it.
std::string clear_cookie_text(std::string_view name, bool is_secure);

// A new secret, of 40 characters of [a-z0-9] (206 random bits): a cookie, a link, a ticket.
std::string make_secret();
inline constexpr std::size_t kSecretLength = 40;
bool is_secret(std::string_view text);
// What is stored of a secret; hex.
std::string digest_of(std::string_view secret);

// What a page shows beside the cookie: another page can make the browser send the cookie, but
// does not know this. Derived from the cookie, which it does not reveal.
std::string csrf_token(std::string_view cookie);

}  // namespace glovebox::signin
