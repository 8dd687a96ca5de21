#include "signin/browser_sessions.h"

#include <algorithm>
#include <utility>

#include "base/constant_time.h"
#include "http/cookies.h"
#include "signin/session_cookie.h"

namespace glovebox::signin {
namespace {

using http::Request;
using http::Response;

std::string ticket_in_protocols(const Request& request) {
  std::string_view rest = request.header("Sec-WebSocket-Protocol");
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) word.remove_prefix(1);
    while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) word.remove_suffix(1);
    if (word.starts_with(kTicketProtocol)) {
      return std::string(word.substr(kTicketProtocol.size()));
    }
  }
  return {};
}

// With the header that every 401 has, as those for keys.
Response refuse_bearer(int status, std::string code, std::string message) {
  Response response = Response::refuse(status, std::move(code), std::move(message));
  response.headers.set("WWW-Authenticate", "Bearer realm=\"glovebox\"");
  return response;
}

}  // namespace

Response duplicate_cookie_refusal() {
  return Response::refuse(403, "duplicate_cookie",
                          "the browser sent two cookies of the console's name; another page of "
                          "this domain has set one of them: remove the site's cookies");
}

BrowserSessions::BrowserSessions(store::Store& store, http::OriginRules rules, std::string instance)
    : store_(store), rules_(std::move(rules)), instance_(std::move(instance)) {}

bool BrowserSessions::is_secure(const Request& request) const {
  return http::own_origin(rules_, request).starts_with("https://");
}

std::string BrowserSessions::name_for(const Request& request) const {
  return cookie_name(is_secure(request), instance_);
}

BrowserSessions::Admission BrowserSessions::admit(const Request& request) {
  const http::FoundCookie cookie = http::find_cookie(request.headers, name_for(request));
  if (cookie.count == 0) return {};
  if (cookie.count > 1) return {.refused = duplicate_cookie_refusal()};
  const http::SameOrigin verdict = http::judge_same_origin(rules_, request);
  if (verdict != http::SameOrigin::kYes) return {.refused = http::refusal(verdict)};
  std::string session = digest_of(cookie.value);
  if (!is_secret(cookie.value) || !store_.find_session(session)) {
    return {.refused = refuse_bearer(401, "session_over",
                                     "the session of this cookie has ended or its key was revoked: "
                                     "sign in again")};
  }
  if (!request.header("Upgrade").empty()) {
    if (!tickets_.take(ticket_in_protocols(request), session, Tickets::TimePoint::clock::now())) {
      return {.refused = refuse_bearer(
                  401, "ticket_required",
                  "a WebSocket of the console needs a ticket that was not used yet: POST "
                  "/console/tickets, and offer the protocol glovebox.ticket.TICKET")};
    }
  } else if (!http::is_safe(request.method) &&
             (request.headers.count(kCsrfHeader) != 1 ||
              !equal_in_constant_time(request.header(kCsrfHeader), csrf_token(cookie.value)))) {
    return {.refused = Response::refuse(403, "csrf",
                                        "the header X-Glovebox-CSRF must have the csrf of GET "
                                        "/console/session")};
  }
  return {.session = std::move(session)};
}

std::optional<store::Store::SignedIn> BrowserSessions::current(const Request& request) {
  const http::FoundCookie cookie = http::find_cookie(request.headers, name_for(request));
  if (cookie.count != 1 || !is_secret(cookie.value)) return std::nullopt;
  return store_.find_session(digest_of(cookie.value));
}

std::optional<store::Principal> BrowserSessions::principal_of(const std::string& session) const {
  auto found = store_.find_session(session);
  if (!found) return std::nullopt;
  return std::move(found->who);
}

std::string BrowserSessions::cookie_for(const Request& request, std::string_view secret,
                                        std::chrono::seconds lifetime) const {
  return set_cookie_text(name_for(request), secret, is_secure(request), lifetime);
}

std::string BrowserSessions::expired_cookie_for(const Request& request) const {
  return clear_cookie_text(name_for(request), is_secure(request));
}

std::string BrowserSessions::csrf_of(const Request& request) const {
  return csrf_token(http::find_cookie(request.headers, name_for(request)).value);
}

}  // namespace glovebox::signin
