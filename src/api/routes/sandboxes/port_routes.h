// /v1/sandboxes/{id}/ports/{port}/…: HTTP and WebSocket services inside a sandbox, by path and with
// a key; and /ports/{id}/{port}/{pass}/…, the same in a browser's tab, where ports have no host
// names. (routing/port_routing.h routes by host name or headers.) The only sockets used are those
// that the session itself has connected, inside its own network; this code cannot reach an address
// of the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "http/message.h"
#include "routing/port_links.h"
#include "routing/port_proxy.h"
#include "routing/route_table.h"
#include "routing/sandbox_access.h"
#include "routing/sandbox_lookup.h"

namespace glovebox::api {

class PortRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
    routing::SandboxAccess& access;
    const routing::PortProxy& proxy;
    routing::PortLinks& links;
  };
  explicit PortRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<PortRoutes>> rows();
  // For browsers. Any Origin may send requests to them: the pass is what counts, and pages there
  // have the origin "null".
  static std::span<const routing::RouteRow<PortRoutes>> page_rows();

  Task<http::Response> forward_to_port(http::Request& request, http::ResponseWriter& writer);
  asio::awaitable<void> upgrade_to_port(http::Request& request, http::RawStream& stream);
  // Takes a link, and redirects to the address with the pass.
  Task<http::Response> open_page(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> forward_page(http::Request& request, http::ResponseWriter& writer);
  asio::awaitable<void> upgrade_page(http::Request& request, http::RawStream& stream);

 private:
  using SessionPtr = std::shared_ptr<node::Session>;

  Task<SessionPtr> session_of_page(const http::Request& request, routing::PortTarget target);
  Task<http::Response> forward(SessionPtr session, std::uint16_t port, routing::RoutedBy routed_by,
                               http::Request& request, http::ResponseWriter& writer);
  asio::awaitable<void> upgrade(SessionPtr session, std::uint16_t port, routing::RoutedBy routed_by,
                                http::Request& request, http::RawStream& stream);

  const Dependencies deps_;
};

}  // namespace glovebox::api
