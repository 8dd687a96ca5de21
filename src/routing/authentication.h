// Who asks, and whether they may. A key comes as X-API-Key, as Authorization: Bearer, or, from a
// page's WebSocket, as a protocol it offers; it is looked up by its hash and never logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "routing/app.h"
#include "http/message.h"
#include "store/key.h"

namespace glovebox::routing {

enum class Access : std::uint8_t {
  kOpen,      // anybody: health
  kOperator,  // anybody on loopback, else a key: figures and documents
  kKey,
  kAdmin,
};

// "Sec-WebSocket-Protocol: glovebox.key.KEY, glovebox.v1": a key for those who can send no header.
inline constexpr std::string_view kKeyProtocol = "glovebox.key.";

// Nothing when there is no key, or not a good one.
std::optional<store::Principal> principal_of(App& app, const http::Request& request);

// The refusal, or nothing: go on. Cheap: called before a body is read.
std::optional<http::Response> refuse(App& app, const http::Request& request, Access access);

// Whose objects this request is about: the key's own project, or, for an admin key, the one that
// the query names. kPolicy when somebody else names another.
Result<std::string> project_of(const store::Principal& who, const http::Request& request);

}  // namespace glovebox::routing
