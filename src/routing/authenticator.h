// Authenticates and authorizes requests. Clients send a key as X-API-Key, as Authorization: Bearer,
// or, from a page's WebSocket, as an offered protocol. Keys are looked up by hash and never logged.
// The console's pages have a cookie instead, which counts only for routes that accept it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "http/message.h"
#include "routing/key_forms.h"
#include "signin/browser_sessions.h"
#include "store/key.h"
#include "store/store.h"

namespace glovebox::routing {

enum class Access : std::uint8_t {
  kOpen,      // no key required: health
  kOperator,  // no key on loopback, else a key: metrics and documentation
  kKey,
  kAdmin,
};
std::string_view access_name(Access access);

// Whether the console's cookie counts for a route.
enum class Cookies : std::uint8_t { kIgnored, kAccepted };

// "Sec-WebSocket-Protocol: glovebox.key.KEY, glovebox.v1": a key from clients that cannot send
// headers.
inline constexpr std::string_view kKeyProtocol = "glovebox.key.";

// The key of a request, and the project that the request applies to.
struct Caller {
  store::Principal who;
  std::string project;  // "*": every project, only with an admin key
};

class Authenticator {
 public:
  // Both are borrowed and outlive this. On loopback, operators need no key, unless their request
  // came through a proxy.
  Authenticator(store::Store& store, signin::BrowserSessions& browsers, KeyForms key_forms,
                bool is_loopback)
      : store_(store),
        browsers_(browsers),
        key_forms_(std::move(key_forms)),
        is_loopback_(is_loopback) {}

  // Nothing: the request has neither a valid key nor a session that was admitted and still lives.
  std::optional<store::Principal> principal_of(const http::Request& request) const;

  // The same for a key that was sent in a body.
  std::optional<store::Principal> principal_of_key(std::string_view key) const {
    return store_.authenticate(key_forms_.own_form(key));
  }

  // As refuse(), once for each request; before that, a request without a key may show the console's
  // cookie.
  std::optional<http::Response> admit(http::Request& request, Access access, Cookies cookies) const;

  // The refusal, or nothing if the request is admitted. Cheap: called before the body is read.
  std::optional<http::Response> refuse(const http::Request& request, Access access) const;

  // kPermissionDenied: the key was revoked meanwhile; else as project_of().
  Result<Caller> caller_of(const http::Request& request) const;
  // The same for exactly one project: "*" is kInvalidArgument.
  Result<Caller> caller_of_one_project(const http::Request& request) const;
  // Of what an admin key manages for all projects together, such as layers and images: "*" for an
  // admin key, unless the query names a project.
  Result<std::string> managed_project(const http::Request& request) const;

 private:
  static bool is_from_this_host(const http::Request& request);

  store::Store& store_;
  signin::BrowserSessions& browsers_;
  const KeyForms key_forms_;
  const bool is_loopback_;
};

// The project that this request applies to: the key's own, or, for an admin key, the one that the
// query names. kPolicy: a key without admin rights names a different project.
Result<std::string> project_of(const store::Principal& who, const http::Request& request);

}  // namespace glovebox::routing
