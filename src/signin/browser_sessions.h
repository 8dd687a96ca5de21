// Decides whether a request with the console's cookie may act for the key that the session was
// begun with. Only routes that ask admit() accept the cookie; it stands in Request::session from
// then on. On the server's thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/origin_rules.h"
#include "signin/tickets.h"
#include "store/store.h"

namespace glovebox::signin {

inline constexpr std::string_view kCsrfHeader = "X-Glovebox-CSRF";
// "Sec-WebSocket-Protocol: glovebox.v1, glovebox.ticket.TICKET"
inline constexpr std::string_view kTicketProtocol = "glovebox.ticket.";

class BrowserSessions {
 public:
  // `store` is borrowed and outlives this. `instance` distinguishes this server's cookie from that
  // of another one on the same host.
  BrowserSessions(store::Store& store, http::OriginRules rules, std::string instance);

  // What the cookie of a request comes to. With a refusal there is no session. Neither: there is no
  // cookie. Takes the ticket of a WebSocket, so once per request.
  struct Admission {
    std::string session{};  // its digest
    std::optional<http::Response> refused{};
  };
  Admission admit(const http::Request& request);
  // The same for a request that only reads who is signed in: an ended session is no refusal.
  std::optional<store::Store::SignedIn> current(const http::Request& request);

  // Nothing: it has ended, or its key was revoked.
  std::optional<store::Principal> principal_of(const std::string& session) const;

  // The cookie of a session that begins with this request's answer, and of one that ends.
  std::string cookie_for(const http::Request& request, std::string_view secret,
                         std::chrono::seconds lifetime) const;
  std::string expired_cookie_for(const http::Request& request) const;
  // The CSRF token of the session whose cookie the request has.
  std::string csrf_of(const http::Request& request) const;

  const http::OriginRules& rules() const { return rules_; }
  Tickets& tickets() { return tickets_; }

 private:
  bool is_secure(const http::Request& request) const;
  std::string name_for(const http::Request& request) const;

  store::Store& store_;
  const http::OriginRules rules_;
  const std::string instance_;
  Tickets tickets_;
};

// Two cookies of our name: one of them was set by another name of the domain, and nothing says
// which.
http::Response duplicate_cookie_refusal();

}  // namespace glovebox::signin
