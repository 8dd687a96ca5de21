// Authenticates and authorizes requests. Clients send a key as X-API-Key, as Authorization: Bearer,
// or, from a page's WebSocket, as an offered protocol. Keys are looked up by hash and never logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "http/message.h"
#include "routing/key_forms.h"
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
  // `store` is borrowed and outlives this. On loopback, operators need no key, unless their request
  // came through a proxy.
  Authenticator(store::Store& store, KeyForms key_forms, bool is_loopback)
      : store_(store), key_forms_(std::move(key_forms)), is_loopback_(is_loopback) {}

  // Nothing: the request has no key, or an invalid one.
  std::optional<store::Principal> principal_of(const http::Request& request) const;

  // The refusal, or nothing if the request is admitted. Cheap: called before the body is read.
  std::optional<http::Response> refuse(const http::Request& request, Access access) const;

  // kPermissionDenied: the key was revoked meanwhile; else as project_of().
  Result<Caller> caller_of(const http::Request& request) const;
  // The same for exactly one project: "*" is kInvalidArgument.
  Result<Caller> caller_of_one_project(const http::Request& request) const;

 private:
  static bool is_from_this_host(const http::Request& request);

  store::Store& store_;
  const KeyForms key_forms_;
  const bool is_loopback_;
};

// The project that this request applies to: the key's own, or, for an admin key, the one that the
// query names. kPolicy: a key without admin rights names a different project.
Result<std::string> project_of(const store::Principal& who, const http::Request& request);

}  // namespace glovebox::routing
