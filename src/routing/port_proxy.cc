#include "routing/port_proxy.h"

#include <strings.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "http/cookies.h"
#include "http/proxy/upstream_answer.h"
#include "http/websocket/websocket_frames.h"
#include "routing/authenticator.h"
#include "signin/browser_sessions.h"

namespace glovebox::routing {
namespace {

namespace json = boost::json;

constexpr std::string_view kOurProtocol = "glovebox.v1";
constexpr std::size_t kMaxId = 63;  // a DNS label
// Without allow-same-origin: its scripts run, but as those of no origin, without cookies and
// storage, and not as the console's. A window that it opens is as confined.
constexpr std::string_view kPageSandbox =
    "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads";
constexpr std::size_t kMaxHostMask = 253;
constexpr std::string_view kPortVariable = "${PORT}";
constexpr std::string_view kDefaultHost = "localhost:${PORT}";

std::string host_of(std::string_view mask, std::uint16_t port) {
  std::string host(mask);
  const std::string number = std::to_string(port);
  for (std::size_t at = 0; (at = host.find(kPortVariable, at)) != std::string::npos;) {
    host.replace(at, kPortVariable.size(), number);
    at += number.size();
  }
  return host;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool begins(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && ::strncasecmp(text.data(), with.data(), with.size()) == 0;
}

// The bearer token of an Authorization header, or the whole value of any other header.
std::string_view credential_in(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  return without_blanks(begins(authorization, kScheme) ? authorization.substr(kScheme.size())
                                                       : authorization);
}

void add_forwarded(const http::Request& request, std::string_view prefix, http::Headers& headers) {
  headers.remove("Forwarded");
  headers.set("X-Forwarded-For", request.remote_host);
  headers.set("X-Forwarded-Host", request.host);
  headers.set("X-Forwarded-Proto", request.tls ? "https" : "http");
  headers.remove("X-Forwarded-Prefix");
  if (!prefix.empty()) headers.add("X-Forwarded-Prefix", std::string(prefix));
}

}  // namespace

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

bool is_host_mask(std::string_view text) {
  if (text.empty() || text.size() > kMaxHostMask) return false;
  const std::string host = host_of(text, 1);
  const std::size_t colon = host.find(':');
  const std::string_view name = std::string_view(host).substr(0, colon);
  if (colon != std::string::npos && !parse_port(host.substr(colon + 1))) return false;
  return !name.empty() && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
         });
}

bool is_sandbox_label(std::string_view text) {
  return !text.empty() && text.size() <= kMaxId &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

std::optional<PortTarget> port_target_of(const http::Request& request) {
  const std::string_view host = request.host;
  const std::string_view label = host.substr(0, std::min(host.find_first_of(".:"), host.size()));
  const std::size_t dash = label.find('-');
  if (dash != std::string_view::npos && dash > 0 && dash <= 5 && label.size() < host.size() &&
      host[label.size()] == '.') {
    std::string id(label.substr(dash + 1));
    for (char& c : id) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');  // case-insensitive
    }
    const auto port = parse_port(label.substr(0, dash));
    if (port && is_sandbox_label(id)) return PortTarget{.id = std::move(id), .port = *port};
  }
  return std::nullopt;
}

SplitTarget split_port_target(std::string_view target, RoutedBy routed_by) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(std::min(target.find_first_of("/?", scheme.size()), target.size()));
    break;
  }
  // "/v1/sandboxes/{id}/ports/{port}", or "/ports/{id}/{port}/{pass}".
  const int segments = routed_by == RoutedBy::kPage ? 4 : 5;
  std::size_t at = 0;
  for (int segment = 0; segment < segments; ++segment) {
    at = std::min(target.find_first_of("/?", at + 1), target.size());
  }
  SplitTarget split{.prefix = std::string(target.substr(0, at)),
                    .rest = std::string(target.substr(at))};
  if (!split.rest.starts_with('/')) split.rest.insert(0, "/");
  return split;
}

// Removes our own credentials before the request reaches the guest.
void PortProxy::remove_credentials(const http::Request& request, RoutedBy routed_by,
                                   http::Headers& headers) const {
  // Each value is checked: the second one may be a key even if the first is not. A request by path
  // was sent with a key: the header that contains it is removed completely.
  const bool had_key_header = headers.find("X-API-Key") != nullptr;
  for (const std::string_view name : {"X-API-Key", "Authorization"}) {
    headers.remove(name);
    if (routed_by == RoutedBy::kPath && (name == "X-API-Key" || !had_key_header)) continue;
    for (const auto& [field, value] : request.headers) {
      if (!http::header_list_contains(field, name)) continue;
      bool shown = false;
      for (std::string_view rest = value; !rest.empty() && !shown;) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        // A key that was revoked, or that is another server's, is not for the guest either.
        shown = key_forms_.is_key(credential_in(without_blanks(rest.substr(0, comma))));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
      }
      if (!shown) headers.add(std::string(name), value);
    }
  }
  for (const std::string_view name : private_headers_) headers.remove(name);
  for (const std::string& name : private_cookies_) http::remove_cookies(headers, name);
  // "glovebox.key.KEY, glovebox.v1" is for us; the guest chooses from the other protocols.
  std::string protocols;
  for (const auto& [name, value] : request.headers) {
    if (!http::header_list_contains(name, "Sec-WebSocket-Protocol")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view word = without_blanks(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      if (word.empty() || word == kOurProtocol || begins(word, kKeyProtocol) ||
          begins(word, signin::kTicketProtocol)) {
        continue;
      }
      if (!protocols.empty()) protocols += ", ";
      protocols += word;
    }
  }
  headers.remove("Sec-WebSocket-Protocol");
  if (!protocols.empty()) headers.add("Sec-WebSocket-Protocol", std::move(protocols));
}

http::ProxyPlan PortProxy::plan(const http::Request& request, std::uint16_t port,
                                RoutedBy routed_by, std::string_view host_mask) const {
  http::ProxyPlan plan;
  std::string prefix;
  if (routed_by != RoutedBy::kHost) {
    SplitTarget split = split_port_target(request.target, routed_by);
    prefix = std::move(split.prefix);
    plan.target = std::move(split.rest);
  } else {
    // The absolute form includes a host; the guest gets only the path.
    std::string_view target = request.target;
    for (const std::string_view scheme : {"http://", "https://"}) {
      if (!target.starts_with(scheme)) continue;
      target.remove_prefix(std::min(target.find_first_of("/?", scheme.size()), target.size()));
      break;
    }
    plan.target = target;
    if (!plan.target.starts_with('/') && plan.target != "*") plan.target.insert(0, "/");
  }
  http::Headers headers = request.headers;
  http::remove_hop_by_hop(headers);
  headers.remove("Expect");
  remove_credentials(request, routed_by, headers);
  // A browser sends its cookies to all ports of a host: these cookies are not for the guest.
  if (routed_by != RoutedBy::kHost) headers.remove("Cookie");
  // The pass is not for the guest either.
  if (routed_by == RoutedBy::kPage) headers.remove("Referer");
  add_forwarded(request, routed_by == RoutedBy::kPage ? std::string() : prefix, headers);
  headers.set("Host", host_of(host_mask.empty() ? kDefaultHost : host_mask, port));
  plan.headers = std::move(headers);
  const bool offers_ours =
      http::header_list_contains(request.header("Sec-WebSocket-Protocol"), kOurProtocol);
  plan.on_answer = [routed_by, prefix, offers_ours](int status, http::Headers& answer) {
    if (routed_by == RoutedBy::kHost) {
      restrict_cookies(answer);
    } else {
      restrict_answer(answer, prefix, routed_by);
    }
    // A browser that offers protocols requires the answer to select one.
    if (status == 101 && offers_ours && answer.find("Sec-WebSocket-Protocol") == nullptr) {
      answer.add("Sec-WebSocket-Protocol", std::string(kOurProtocol));
    }
  };
  return plan;
}

void restrict_answer(http::Headers& headers, std::string_view prefix, RoutedBy routed_by) {
  // Headers that would apply to everything under our address, now or later.
  for (const std::string_view name :
       {"Set-Cookie", "Set-Cookie2", "Service-Worker-Allowed", "Clear-Site-Data", "Alt-Svc",
        "Strict-Transport-Security", "Public-Key-Pins", "NEL", "Report-To", "Reporting-Endpoints",
        "Accept-CH", "Origin-Agent-Cluster", "Access-Control-Allow-Origin",
        "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers",
        "Access-Control-Allow-Methods", "Access-Control-Expose-Headers", "Access-Control-Max-Age",
        "Access-Control-Allow-Private-Network"}) {
    headers.remove(name);
  }
  if (routed_by == RoutedBy::kPage) {
    headers.add("Content-Security-Policy", std::string(kPageSandbox));
    headers.set("Referrer-Policy", "no-referrer");
  } else {
    headers.add("Content-Security-Policy", "sandbox");
  }
  const std::string* location = headers.find("Location");
  if (location != nullptr && location->starts_with('/') && !location->starts_with("//") &&
      !location->starts_with("/\\")) {
    headers.set("Location", std::string(prefix) + *location);
  }
}

void restrict_cookies(http::Headers& headers) {
  // Its "cookies" are those of the registrable domain, the console's session among them.
  headers.remove("Clear-Site-Data");
  http::Headers kept;
  for (const auto& [name, value] : headers) {
    if (!http::header_list_contains(name, "Set-Cookie")) {
      kept.add(name, value);
      continue;
    }
    std::string cookie;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view part = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::string_view word = without_blanks(part.substr(0, part.find('=')));
      if (!cookie.empty() && http::header_list_contains(word, "domain")) continue;
      if (!cookie.empty()) cookie += ';';
      cookie += part;
    }
    kept.add(name, std::move(cookie));
  }
  headers = std::move(kept);
}

http::Response port_refusal(int status, const std::string& id, std::string_view message,
                            std::optional<std::uint16_t> port) {
  json::object body{{"sandboxId", id}, {"message", message}};
  if (port) body["port"] = *port;
  body["code"] = status;
  return http::Response::json(json::serialize(body), status);
}

}  // namespace glovebox::routing
