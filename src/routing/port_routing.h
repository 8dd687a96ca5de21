// Requests that name a port of a sandbox by their Host ("3000-sbid.example.com") or by a dialect's
// headers. They are routed before the server's own paths. They need no key, but a token if the
// sandbox's ports are private. Ports that a dialect answers itself go to the dialect.
#pragma once

#include <string>
#include <vector>

#include "base/task.h"
#include "http/message.h"
#include "http/router.h"
#include "routing/port_dialect.h"
#include "routing/port_links.h"
#include "routing/port_proxy.h"
#include "routing/sandbox_access.h"

namespace glovebox::routing {

// The token of private ports.
inline constexpr std::string_view kPortTokenHeader = "X-Glovebox-Port-Token";

class PortRouting {
 public:
  // All are borrowed and outlive this.
  PortRouting(SandboxAccess& access, const PortProxy& proxy, PortLinks& links,
              std::vector<const PortDialect*> dialects);
  PortRouting(const PortRouting&) = delete;
  PortRouting& operator=(const PortRouting&) = delete;

  // For http::ServerOptions::route_first; null: the request is for one of the server's own paths.
  const http::Route* find(http::Request& request) const;

 private:
  struct Admitted;

  asio::awaitable<Admitted> admit(const http::Request& request, PortTarget target);
  // Every request shows the empty token, which is that of public ports.
  bool shows_port_token(const http::Request& request, const PortTarget& target,
                        const std::string& token) const;
  // The answer to a link: the cookie, and the port's first page.
  http::Response open(const http::Request& request, const PortTarget& target);
  Task<http::Response> forward(http::Request& request, http::ResponseWriter& writer);
  asio::awaitable<void> upgrade(http::Request& request, http::RawStream& stream);

  SandboxAccess& access_;
  const PortProxy& proxy_;
  PortLinks& links_;
  const std::vector<const PortDialect*> dialects_;
  http::Route route_;  // to a port of the guest
};

}  // namespace glovebox::routing
