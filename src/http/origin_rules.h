// Which host names the server answers to, and which pages may call it. A page in a browser can make
// requests to our loopback address, but it cannot forge Host or Origin, so these two rules keep it
// out (DNS rebinding, cross-site requests). Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "http/router.h"

namespace glovebox::http {

struct OriginRules {
  // "127.0.0.1:43121", "192.0.2.7:7070": where we listen. Behind a wildcard ("0.0.0.0", "[::]") the
  // address that a connection came to counts instead: no name can be pointed at a literal address.
  std::vector<std::string> listen_addresses;
  std::vector<std::string> domains;  // "glovebox.example.com": itself and its subdomains, any port
  std::vector<std::string> origins;  // "https://app.example.com": exactly, case aside
  // "https://glovebox.example.com": what browsers see, for a server behind a proxy that terminates
  // TLS. Then no other address is the server's own. Empty: the address of each request counts.
  std::string public_origin{};
};

enum class OriginVerdict : std::uint8_t {
  kAllowed,
  kHostNotAllowed,    // 421 host_not_allowed
  kOriginNotAllowed,  // 403 origin_not_allowed
};

// `host` as sent: "localhost:7070", "[::1]". localhost, *.localhost, 127.0.0.1 and [::1] are
// allowed with any port (forwarded ports, containers); listen addresses with theirs.
// `local` is the address that the connection came to, for those who listen everywhere.
bool host_allowed(const OriginRules& rules, std::string_view host, std::string_view local = {});
bool listens_everywhere(const OriginRules& rules);
// localhost, a name below it, 127.0.0.1 or [::1], with any port.
bool names_loopback(std::string_view host);
// "8443" of the Host "api.example.com:8443" for the domain "example.com". Empty: there is no port,
// or the name is not of this domain.
std::string port_at_domain(std::string_view host, std::string_view domain);
bool origin_allowed(const OriginRules& rules, std::string_view origin);
// A page of this server itself, like /docs: the Origin is the name and port that the request is
// addressed to, and that is a name of the server. Names below `localhost` and below a domain are
// left out, but for "api.": there, pages of guests are served.
bool is_own_page(const OriginRules& rules, std::string_view origin, std::string_view host,
                 std::string_view local = {});

// The Origin that this server's own pages have at the address of this request. Empty: there is none
// that is protected, because the address is neither HTTPS nor loopback, or is not the public one.
std::string own_origin(const OriginRules& rules, const Request& request);

// What a request must show before a cookie counts for it: that a page of this server itself sent
// it. Browsers write these headers, and pages cannot change them. Guests' pages on names below our
// domain are on the same site, so browsers send SameSite cookies with their requests: SameSite is
// no part of this rule.
enum class SameOrigin : std::uint8_t {
  kYes,
  kNoOwnOrigin,  // own_origin() is empty
  kOtherOrigin,  // Origin is missing where it must be there, is another one, or is there twice
  kOtherSite,    // Sec-Fetch-Site is not "same-origin"
  kNotFetched,   // neither fetch() nor a WebSocket: the answer would be shown as a document
};
SameOrigin judge_same_origin(const OriginRules& rules, const Request& request);
Response refusal(SameOrigin verdict);
// Methods that change nothing: GET and HEAD.
bool is_safe(Method method);

// The verdict on a request; a route with Cors::kAny accepts every Origin.
OriginVerdict judge(const OriginRules& rules, const Request& request, Cors cors);
Response refusal(OriginVerdict verdict);

// An OPTIONS request with Origin and Access-Control-Request-Method.
bool is_preflight(const Request& request);
Response answer_preflight(const Request& request, const std::vector<Method>& allowed, Cors cors);
// The headers of a normal answer to an allowed Origin.
void add_cors_headers(const Request& request, Cors cors, Headers& headers);

}  // namespace glovebox::http
