// Who sent a request, and whether they may. A key comes as X-API-Key, as Authorization: Bearer, or,
// from a page's WebSocket, as a protocol it offers; it is looked up by its hash and never logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"
#include "store/key.h"
#include "store/store.h"

namespace glovebox::routing {

enum class Access : std::uint8_t {
  kOpen,      // everyone: health
  kOperator,  // everyone on loopback, else a key: figures and documents
  kKey,
  kAdmin,
};
std::string_view access_name(Access access);

// "Sec-WebSocket-Protocol: glovebox.key.KEY, glovebox.v1": a key from clients that cannot send
// headers.
inline constexpr std::string_view kKeyProtocol = "glovebox.key.";

// The key that a request was made with, and the project it is about.
struct Caller {
  store::Principal who;
  std::string project;  // "*": every project, only with an admin key
};

class Authenticator {
 public:
  // `store` is borrowed and outlives this. On loopback, operators need no key.
  Authenticator(store::Store& store, bool is_loopback)
      : store_(store), is_loopback_(is_loopback) {}

  // Nothing: there is no key, or it is not valid.
  std::optional<store::Principal> principal_of(const http::Request& request) const;
  bool is_key(std::string_view text) const;

  // The refusal, or nothing: admitted. Cheap: called before the body is read.
  std::optional<http::Response> refuse(const http::Request& request, Access access) const;

  // kPermissionDenied: the key was revoked meanwhile; else as project_of().
  Result<Caller> caller_of(const http::Request& request) const;
  // The same, of one project: "*" is kInvalidArgument.
  Result<Caller> caller_of_one_project(const http::Request& request) const;

 private:
  store::Store& store_;
  const bool is_loopback_;
};

// Whose objects this request is about: the key's own project, or, for an admin key, the one that
// the query names. kPolicy: another key names another project.
Result<std::string> project_of(const store::Principal& who, const http::Request& request);

}  // namespace glovebox::routing
