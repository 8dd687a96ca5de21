// The routes of a sandbox's two virtual ports, 49983 (envd, E2B's agent) and 49999 (the code
// interpreter). They come before any path of the server itself; see routing/port_dialect.h.
#pragma once

#include "http/router.h"
#include "routing/port_proxy.h"

namespace glovebox::e2b {

class EnvdRouter {
 public:
  EnvdRouter(http::Router envd, http::Router interpreter);

  // Adds the route's path parameters to the request. Null: an ordinary port of the sandbox. A path
  // without a route gets one that answers 404.
  const http::Route* find(http::Request& request, const routing::PortTarget& target) const;
  // Of a file's signed URL, which need not name a sandbox; null: it is none.
  const http::Route* find_signed(const http::Request& request) const;

 private:
  const http::Router envd_;
  const http::Router interpreter_;
  http::Route not_found_;
};

}  // namespace glovebox::e2b
