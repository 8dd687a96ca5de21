#include "routing/port_links.h"

#include <algorithm>
#include <charconv>

#include "base/constant_time.h"
#include "http/cookies.h"
#include "http/origin_rules.h"
#include "signin/session_cookie.h"
#include "store/sha256.h"

namespace glovebox::routing {
namespace {

constexpr std::string_view kSecureName = "__Host-glovebox-port";
constexpr std::string_view kPlainName = "glovebox-port";

// A cookie is sent with requests of other pages of the site too. They may open the port as a page
// of its own, and nothing else.
bool is_own_request(const http::Request& request, bool is_secure) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  if (site == "same-origin" || site == "none") return true;
  if (!request.header("Upgrade").empty()) {
    const std::string own = (is_secure ? "https://" : "http://") + request.host;
    return site.empty() && request.headers.count("Origin") == 1 && request.header("Origin") == own;
  }
  return http::is_safe(request.method) && request.header("Sec-Fetch-Mode") == "navigate" &&
         request.header("Sec-Fetch-Dest") == "document";
}

}  // namespace

std::string port_page_path(const PortTarget& target) {
  return "/ports/" + target.id + "/" + std::to_string(target.port) + "/";
}

std::vector<std::string> PortLinks::cookie_names() {
  return {std::string(kSecureName), std::string(kPlainName)};
}

void PortLinks::remove_expired(TimePoint now) {
  std::erase_if(by_digest_, [now](const auto& item) { return item.second.expires <= now; });
}

std::optional<std::string> PortLinks::make(const PortTarget& target, TimePoint now) {
  remove_expired(now);
  const auto of_sandbox =
      std::count_if(by_digest_.begin(), by_digest_.end(),
                    [&](const auto& item) { return item.second.target.id == target.id; });
  if (static_cast<std::size_t>(of_sandbox) >= kPerSandbox || by_digest_.size() >= kTotal) {
    return std::nullopt;
  }
  std::string link = signin::make_secret();
  by_digest_[signin::digest_of(link)] = Link{.target = target, .expires = now + kLinkLifetime};
  return link;
}

bool PortLinks::take(const std::string& link, const PortTarget& target, TimePoint now) {
  const auto found = by_digest_.find(signin::digest_of(link));
  if (found == by_digest_.end()) return false;
  const Link taken = std::move(found->second);
  by_digest_.erase(found);
  return taken.target.id == target.id && taken.target.port == target.port && taken.expires > now;
}

// A new token of the sandbox, or another port, makes another value.
std::string PortLinks::value_of(Use use, const PortTarget& target, std::string_view token,
                                std::int64_t expires_s) const {
  const std::string what = target.id + ":" + std::to_string(target.port) + ":" +
                           std::to_string(expires_s) + ":" + std::string(token);
  const char* label = use == Use::kCookie ? "glovebox port cookie:" : "glovebox port pass:";
  return std::to_string(expires_s) + "-" +
         store::sha256_hex(label + secret_ + ":" + store::sha256_hex(what));
}

bool PortLinks::is_value(std::string_view value, Use use, const PortTarget& target,
                         std::string_view token, std::int64_t now_ms) const {
  if (secret_.empty()) return false;
  std::int64_t expires_s = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), expires_s);
  if (error != std::errc() || expires_s <= now_ms / 1000) return false;
  return equal_in_constant_time(value, value_of(use, target, token, expires_s));
}

std::string PortLinks::set_cookie(const http::Request& request, const PortTarget& target,
                                  std::string_view token, std::int64_t now_ms) const {
  const auto lifetime = std::chrono::seconds(kCookieLifetime);
  std::string text(is_secure(request) ? kSecureName : kPlainName);
  text += "=" + value_of(Use::kCookie, target, token, now_ms / 1000 + lifetime.count());
  // Lax: else the page that the link leads to would be loaded without it.
  text += "; Path=/; HttpOnly; SameSite=Lax; Max-Age=" + std::to_string(lifetime.count());
  if (is_secure(request)) text += "; Secure";
  return text;
}

bool PortLinks::shows_cookie(const http::Request& request, const PortTarget& target,
                             std::string_view token, std::int64_t now_ms) const {
  if (token.empty()) return false;
  const bool secure = is_secure(request);
  const http::FoundCookie cookie =
      http::find_cookie(request.headers, secure ? kSecureName : kPlainName);
  if (cookie.count != 1 || !is_own_request(request, secure)) return false;
  return is_value(cookie.value, Use::kCookie, target, token, now_ms);
}

std::string PortLinks::make_pass(const PortTarget& target, std::string_view token,
                                 std::int64_t now_ms) const {
  const auto lifetime = std::chrono::seconds(kCookieLifetime);
  return value_of(Use::kPass, target, token, now_ms / 1000 + lifetime.count());
}

bool PortLinks::is_pass(std::string_view pass, const PortTarget& target, std::string_view token,
                        std::int64_t now_ms) const {
  return is_value(pass, Use::kPass, target, token, now_ms);
}

}  // namespace glovebox::routing
