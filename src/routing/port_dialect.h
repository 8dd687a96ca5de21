// What a dialect adds to the routing of requests to sandboxes' ports: how its clients name a
// sandbox and a port, which ports the dialect answers itself instead of the guest, and which of its
// headers are never passed on to a guest.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "http/message.h"
#include "http/router.h"
#include "routing/port_proxy.h"

namespace glovebox::routing {

class PortDialect {
 public:
  virtual ~PortDialect() = default;

  // Reads the dialect's own headers. Nothing: they name no sandbox.
  virtual std::optional<PortTarget> target_of(const http::Request& request) const = 0;
  // The route of a port that the dialect answers itself; null: it is an ordinary port. May add path
  // parameters to the request.
  virtual const http::Route* find(http::Request& request, const PortTarget& target) const = 0;
  // The route of a request that names no sandbox but belongs to the dialect; null: none.
  virtual const http::Route* find_untargeted(const http::Request& request) const = 0;
  // The token of private ports as this dialect's clients send it; empty: not sent.
  virtual std::string_view port_token_of(const http::Request& request) const = 0;
  // Removed from requests before they reach a guest.
  virtual std::span<const std::string_view> private_headers() const = 0;
};

}  // namespace glovebox::routing
