#include "routing/authenticator.h"

#include <strings.h>

#include <algorithm>

#include "http/origin_rules.h"

namespace glovebox::routing {
namespace {

// The only header that a page can set for its WebSocket: "glovebox.key.KEY, glovebox.v1".
std::string_view key_in_protocols(const http::Request& request) {
  if (request.header("Upgrade").empty()) return {};
  std::string_view rest = request.header("Sec-WebSocket-Protocol");
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) word.remove_prefix(1);
    while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) word.remove_suffix(1);
    if (word.starts_with(kKeyProtocol)) return word.substr(kKeyProtocol.size());
  }
  return {};
}

std::string_view presented_key(const http::Request& request) {
  if (const std::string* key = request.headers.find("X-API-Key")) return *key;
  const std::string_view offered = key_in_protocols(request);
  if (!offered.empty()) return offered;
  std::string_view value = request.header("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (value.size() <= kScheme.size() ||
      ::strncasecmp(value.data(), kScheme.data(), kScheme.size()) != 0) {
    return {};
  }
  value.remove_prefix(kScheme.size());
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  return value;
}

http::Response unauthorized(bool presented) {
  http::Response response = http::Response::refuse(
      401, "unauthorized",
      presented ? "this API key is not valid (mistyped, or revoked)"
                : "an API key is required: send X-API-Key, or Authorization: Bearer");
  response.headers.set("WWW-Authenticate", "Bearer realm=\"glovebox\"");
  return response;
}

}  // namespace

std::string_view access_name(Access access) {
  switch (access) {
    case Access::kOpen:
      return "open";
    case Access::kOperator:
      return "operator";
    case Access::kKey:
      return "key";
    case Access::kAdmin:
      return "admin";
  }
  return "admin";
}

// A server on loopback may have a proxy in front of it, whose clients are anywhere. They cannot
// remove the headers that the proxy adds; most of them do not name loopback as the Host either.
bool Authenticator::is_from_this_host(const http::Request& request) {
  for (const char* added : {"X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host",
                            "X-Forwarded-Proto"}) {
    if (request.headers.find(added) != nullptr) return false;
  }
  return http::names_loopback(request.host);
}

std::optional<store::Principal> Authenticator::principal_of(const http::Request& request) const {
  const std::string_view key = presented_key(request);
  if (!key.empty()) return store_.authenticate(key_forms_.own_form(key));
  if (!request.session.empty()) return browsers_.principal_of(request.session);
  return std::nullopt;
}

std::optional<http::Response> Authenticator::admit(http::Request& request, Access access,
                                                   Cookies cookies) const {
  const bool may_have_cookie = cookies == Cookies::kAccepted && access != Access::kOpen;
  if (may_have_cookie && presented_key(request).empty()) {
    signin::BrowserSessions::Admission admission = browsers_.admit(request);
    if (admission.refused) return std::move(admission.refused);
    request.session = std::move(admission.session);
  }
  return refuse(request, access);
}

std::optional<http::Response> Authenticator::refuse(const http::Request& request,
                                                    Access access) const {
  if (access == Access::kOpen) return std::nullopt;
  if (access == Access::kOperator && is_loopback_ && is_from_this_host(request)) {
    return std::nullopt;
  }
  const auto who = principal_of(request);
  if (!who) return unauthorized(!presented_key(request).empty());
  if (access == Access::kAdmin && !who->is_admin()) {
    return http::Response::refuse(403, "admin_only", "this needs an admin key");
  }
  return std::nullopt;
}

Result<Caller> Authenticator::caller_of(const http::Request& request) const {
  auto who = principal_of(request);
  if (!who) return fail(Errc::kPermissionDenied, "this API key is no longer valid");
  TRY(std::string project, project_of(*who, request));
  return Caller{std::move(*who), std::move(project)};
}

Result<Caller> Authenticator::caller_of_one_project(const http::Request& request) const {
  TRY(Caller caller, caller_of(request));
  if (caller.project == "*") {
    return fail(Errc::kInvalidArgument, "project: must name one project, not *");
  }
  return caller;
}

Result<std::string> Authenticator::managed_project(const http::Request& request) const {
  TRY(Caller caller, caller_of(request));
  if (caller.who.is_admin() && request.query.find("project") == nullptr) return std::string("*");
  return std::move(caller.project);
}

Result<std::string> project_of(const store::Principal& who, const http::Request& request) {
  const std::string* asked = request.query.find("project");
  if (asked == nullptr || *asked == who.project) return who.project;
  if (!who.is_admin()) {
    return fail(Errc::kPolicy, "project: only an admin key can access other projects");
  }
  return *asked;
}

}  // namespace glovebox::routing
