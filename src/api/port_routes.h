// /v1/sandboxes/{id}/ports/{port}/…: HTTP and WebSocket services inside a sandbox, by path and with
// a key. (routing/port_routing.h routes by host name or headers.) The only sockets used are those
// that the session itself has connected, inside its own network; this code cannot reach an address
// of the host.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/port_proxy.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"

namespace glovebox::api {

class PortRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
    const routing::PortProxy& proxy;
  };
  explicit PortRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<PortRoutes>> rows();

  Task<http::Response> forward_to_port(http::Request& request, http::ResponseWriter& writer);
  asio::awaitable<void> upgrade_to_port(http::Request& request, http::RawStream& stream);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
