// Opens ports of sandboxes in a browser, which cannot add a key or the header with their token to
// what it loads. A one-time link sets a cookie on the port's own host name; the cookie stands for
// the token there, and is removed before a request reaches the guest. Where ports have no host
// names, the link leads to an address below /ports/ with a pass in its path instead. On the
// server's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/message.h"
#include "routing/port_proxy.h"

namespace glovebox::routing {

// Of the port's host name; the guest never sees requests to it.
inline constexpr std::string_view kOpenPortPath = "/.glovebox/open";

// "/ports/ID/PORT/", for ports without host names: "open" takes a link, and a pass is followed by
// the guest's own paths.
std::string port_page_path(const PortTarget& target);

class PortLinks {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kLinkLifetime{60};
  static constexpr std::chrono::hours kCookieLifetime{12};
  static constexpr std::size_t kPerSandbox = 32;
  static constexpr std::size_t kTotal = 4096;

  // Cookies and passes are derived from `secret`; without one none is valid. `is_https`: browsers
  // reach the server by HTTPS whatever it sees itself, because of a proxy.
  PortLinks(std::string secret, bool is_https) : secret_(std::move(secret)), is_https_(is_https) {}

  // What the link has behind "?link=". Nothing: too many are unused.
  std::optional<std::string> make(const PortTarget& target, TimePoint now);
  // True once for each link, and only for the port that it was made for.
  bool take(const std::string& link, const PortTarget& target, TimePoint now);

  // The header that sets the cookie for a port of a sandbox with this token.
  std::string set_cookie(const http::Request& request, const PortTarget& target,
                         std::string_view token, std::int64_t now_ms) const;
  // Whether the request has a valid cookie for the port, and is one that a page of another origin
  // cannot have made the browser send; opening it as a page from elsewhere is allowed.
  bool shows_cookie(const http::Request& request, const PortTarget& target, std::string_view token,
                    std::int64_t now_ms) const;

  // One segment of a path. A page below /ports/ has an opaque origin, to which browsers send no
  // cookies, and a cookie without SameSite would count for pages from anywhere. Public ports have
  // passes too, made with the empty token.
  std::string make_pass(const PortTarget& target, std::string_view token,
                        std::int64_t now_ms) const;
  bool is_pass(std::string_view pass, const PortTarget& target, std::string_view token,
               std::int64_t now_ms) const;

  // For PortProxy.
  static std::vector<std::string> cookie_names();

 private:
  bool is_secure(const http::Request& request) const { return is_https_ || request.tls; }
  enum class Use : std::uint8_t { kCookie, kPass };
  std::string value_of(Use use, const PortTarget& target, std::string_view token,
                       std::int64_t expires_s) const;
  bool is_value(std::string_view value, Use use, const PortTarget& target, std::string_view token,
                std::int64_t now_ms) const;
  void remove_expired(TimePoint now);

  struct Link {
    PortTarget target;
    TimePoint expires;
  };
  const std::string secret_;
  const bool is_https_;
  std::map<std::string, Link> by_digest_;
};

}  // namespace glovebox::routing
