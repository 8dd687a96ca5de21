#include "http/origin_rules.h"

#include <algorithm>

namespace glovebox::http {

namespace {

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

struct HostPort {
  std::string_view name;  // "[::1]" with its brackets
  std::string_view port;  // "" when there is none
  bool is_good = false;
};

HostPort split_host(std::string_view host) {
  HostPort parts;
  std::size_t name_end = 0;
  if (host.starts_with('[')) {
    const std::size_t bracket = host.find(']');
    if (bracket == std::string_view::npos) return parts;
    name_end = bracket + 1;
  } else {
    name_end = std::min(host.find(':'), host.size());
  }
  parts.name = host.substr(0, name_end);
  const std::string_view rest = host.substr(name_end);
  parts.is_good = !parts.name.empty() && (rest.empty() || rest[0] == ':');
  if (rest.size() > 1) parts.port = rest.substr(1);
  for (const char c : parts.port) parts.is_good = parts.is_good && c >= '0' && c <= '9';
  if (parts.port.size() > 5) parts.is_good = false;
  // Letters, digits, "-", "." and an address in brackets; nothing that another parser reads as
  // something else ("user@", "/").
  for (const char c : parts.name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                       c == '_' || c == '[' || c == ']' || c == ':';
    parts.is_good = parts.is_good && plain;
  }
  return parts;
}

// `name` is `domain` or ends in ".domain", with something before the dot.
bool is_within(std::string_view name, std::string_view domain) {
  if (domain.empty()) return false;
  if (name == domain) return true;
  return name.size() > domain.size() + 1 && name.ends_with(domain) &&
         name[name.size() - domain.size() - 1] == '.' && name.front() != '.';
}

bool is_loopback_name(std::string_view name) {
  return is_within(name, "localhost") || name == "127.0.0.1" || name == "[::1]";
}

std::string_view host_of_origin(std::string_view origin) {
  const std::size_t slashes = origin.find("://");
  return slashes == std::string_view::npos ? std::string_view() : origin.substr(slashes + 3);
}

bool is_wildcard(std::string_view address) {
  const std::string_view name = split_host(address).name;
  return name == "0.0.0.0" || name == "[::]";
}

// Whether a Host, whole and in its parts, is this address with its port.
bool names_address(std::string_view host, const HostPort& parts, std::string_view address) {
  const std::string own = lowered(address);
  if (own.empty()) return false;
  if (own == host) return true;
  // The default ports are left out by clients.
  const HostPort listened = split_host(own);
  const bool is_default = listened.port == "80" || listened.port == "443";
  return parts.port.empty() && is_default && listened.name == parts.name;
}

}  // namespace

bool listens_everywhere(const OriginRules& rules) {
  return std::any_of(rules.listen_addresses.begin(), rules.listen_addresses.end(), is_wildcard);
}

bool names_loopback(std::string_view host) {
  const std::string text = lowered(host);
  const HostPort parts = split_host(text);
  return parts.is_good && is_loopback_name(parts.name);
}

std::string port_at_domain(std::string_view host, std::string_view domain) {
  const std::string text = lowered(host);
  const HostPort parts = split_host(text);
  if (!parts.is_good || !is_within(parts.name, lowered(domain))) return {};
  return std::string(parts.port);
}

bool host_allowed(const OriginRules& rules, std::string_view host, std::string_view local) {
  const std::string text = lowered(host);
  const HostPort parts = split_host(text);
  if (!parts.is_good) return false;
  if (is_loopback_name(parts.name)) return true;
  if (!rules.public_origin.empty() && text == host_of_origin(lowered(rules.public_origin))) {
    return true;
  }
  for (const std::string& address : rules.listen_addresses) {
    if (names_address(text, parts, is_wildcard(address) ? local : address)) return true;
  }
  return std::any_of(rules.domains.begin(), rules.domains.end(), [&](const std::string& domain) {
    return is_within(parts.name, lowered(domain));
  });
}

bool origin_allowed(const OriginRules& rules, std::string_view origin) {
  const std::string text = lowered(origin);
  // "null" is what every sandboxed frame sends: never a name to trust.
  if (text.empty() || text == "null") return false;
  return std::any_of(rules.origins.begin(), rules.origins.end(),
                     [&](const std::string& known) { return lowered(known) == text; });
}

bool is_own_page(const OriginRules& rules, std::string_view origin, std::string_view host,
                 std::string_view local) {
  const std::string addressed = lowered(host);
  const std::string from = lowered(origin);
  if (!from.empty() && from == lowered(rules.public_origin)) return true;
  if (from != "http://" + addressed && from != "https://" + addressed) return false;
  const HostPort parts = split_host(addressed);
  if (!parts.is_good) return false;
  if (parts.name == "localhost" || parts.name == "127.0.0.1" || parts.name == "[::1]") return true;
  for (const std::string& address : rules.listen_addresses) {
    if (names_address(addressed, parts, is_wildcard(address) ? local : address)) return true;
  }
  return std::any_of(rules.domains.begin(), rules.domains.end(), [&](const std::string& domain) {
    const std::string own = lowered(domain);
    return !own.empty() && (parts.name == own || parts.name == "api." + own);
  });
}

std::string own_origin(const OriginRules& rules, const Request& request) {
  if (!rules.public_origin.empty()) return lowered(rules.public_origin);
  const std::string host = lowered(request.host);
  if (!request.tls && !is_loopback_name(split_host(host).name)) return {};
  std::string origin = (request.tls ? "https://" : "http://") + host;
  return is_own_page(rules, origin, request.host, request.local) ? origin : std::string();
}

bool is_safe(Method method) { return method == Method::kGet || method == Method::kHead; }

SameOrigin judge_same_origin(const OriginRules& rules, const Request& request) {
  const std::string own = own_origin(rules, request);
  if (own.empty()) return SameOrigin::kNoOwnOrigin;
  const bool is_upgrade = !request.header("Upgrade").empty();
  const std::size_t origins = request.headers.count("Origin");
  // Browsers leave it out of a GET of their own origin, but never of a WebSocket's.
  const bool may_lack_origin = is_safe(request.method) && !is_upgrade;
  if (origins > 1 || (origins == 0 && !may_lack_origin)) return SameOrigin::kOtherOrigin;
  if (origins == 1 && lowered(request.header("Origin")) != own) return SameOrigin::kOtherOrigin;
  // Not every browser writes the others for a WebSocket, which therefore needs a ticket as well.
  const std::size_t sites = request.headers.count("Sec-Fetch-Site");
  const bool may_lack_site = is_upgrade && sites == 0;
  if (!may_lack_site && (sites != 1 || request.header("Sec-Fetch-Site") != "same-origin")) {
    return SameOrigin::kOtherSite;
  }
  const std::string_view use = request.header("Sec-Fetch-Dest");
  const bool is_fetched = use == "empty" || (is_upgrade && (use.empty() || use == "websocket"));
  return is_fetched ? SameOrigin::kYes : SameOrigin::kNotFetched;
}

Response refusal(SameOrigin verdict) {
  switch (verdict) {
    case SameOrigin::kNoOwnOrigin:
      return Response::refuse(
          403, "https_required",
          "the console works over HTTPS and at loopback addresses only: set "
          "server.tls_cert and server.tls_key, or server.public_url for a proxy "
          "that terminates TLS");
    case SameOrigin::kNotFetched:
      return Response::refuse(403, "same_origin_required",
                              "a cookie counts only for requests that a script of the console "
                              "sends, not for documents, images and links (Sec-Fetch-Dest)");
    case SameOrigin::kOtherOrigin:
      return Response::refuse(403, "same_origin_required",
                              "a cookie counts only for requests of the console's own pages: the "
                              "Origin must be the address of this server (server.public_url behind "
                              "a proxy)");
    default:
      return Response::refuse(403, "same_origin_required",
                              "a cookie counts only for requests of the console's own pages, from "
                              "a browser that says so (Sec-Fetch-Site: same-origin)");
  }
}

OriginVerdict judge(const OriginRules& rules, const Request& request, Cors cors) {
  if (!host_allowed(rules, request.host, request.local)) return OriginVerdict::kHostNotAllowed;
  const std::string* origin = request.headers.find("Origin");
  if (origin == nullptr || cors != Cors::kConfigured) return OriginVerdict::kAllowed;
  if (request.headers.count("Origin") > 1) return OriginVerdict::kOriginNotAllowed;
  const bool is_allowed =
      origin_allowed(rules, *origin) || is_own_page(rules, *origin, request.host, request.local);
  return is_allowed ? OriginVerdict::kAllowed : OriginVerdict::kOriginNotAllowed;
}

Response refusal(OriginVerdict verdict) {
  if (verdict == OriginVerdict::kHostNotAllowed) {
    return Response::refuse(421, "host_not_allowed",
                            "this server does not serve the name in the Host header; "
                            "add it to the configured domains to allow it");
  }
  return Response::refuse(403, "origin_not_allowed",
                          "pages of this Origin are not allowed to call this server; "
                          "add it to the configured origins to allow them");
}

bool is_preflight(const Request& request) {
  return request.method == Method::kOptions && request.headers.find("Origin") != nullptr &&
         request.headers.find("Access-Control-Request-Method") != nullptr;
}

Response answer_preflight(const Request& request, const std::vector<Method>& allowed, Cors cors) {
  Response response = Response::empty(204);
  add_cors_headers(request, cors, response.headers);
  response.headers.add("Access-Control-Allow-Methods", allow_header(allowed));
  const std::string_view asked = request.header("Access-Control-Request-Headers");
  if (!asked.empty()) {
    response.headers.add("Access-Control-Allow-Headers", std::string(asked));
  }
  response.headers.add("Access-Control-Max-Age", "600");
  if (request.header("Access-Control-Request-Private-Network") == "true") {
    response.headers.add("Access-Control-Allow-Private-Network", "true");
  }
  return response;
}

void add_cors_headers(const Request& request, Cors cors, Headers& headers) {
  const std::string* origin = request.headers.find("Origin");
  if (origin == nullptr || cors == Cors::kForwarded) return;
  if (cors == Cors::kAny) {
    headers.set("Access-Control-Allow-Origin", "*");
  } else {
    headers.set("Access-Control-Allow-Origin", *origin);
    headers.add("Vary", "Origin");
  }
  headers.set("Access-Control-Expose-Headers",
              "X-Request-Id, Retry-After, X-Next-Token, X-Total-Running, Mcp-Session-Id");
}

}  // namespace glovebox::http
