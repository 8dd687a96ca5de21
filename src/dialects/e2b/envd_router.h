// What is behind a sandbox's two virtual ports, 49983 (envd) and 49999 (the code interpreter), and
// behind signed URLs of files. They come before any path of ours; see api/port_routing.h.
#pragma once

#include <memory>
#include <span>

#include "routing/app.h"
#include "routing/port_proxy.h"
#include "api/routes.h"
#include "http/router.h"

namespace glovebox::e2b {

std::span<const api::RouteRow> envd_routes();
std::span<const api::RouteRow> interpreter_routes();

class EnvdRouter {
 public:
  explicit EnvdRouter(routing::App& app);
  // The route of a request for this port; null: it is an ordinary port of the sandbox.
  const http::Route* find(http::Request& request, const routing::PortTarget& target) const;
  // A signed URL of a file, which names no sandbox; or null.
  const http::Route* find_signed(const http::Request& request) const;

 private:
  http::Router envd_;
  http::Router interpreter_;
  http::Route nothing_;  // 404
};

}  // namespace glovebox::e2b
