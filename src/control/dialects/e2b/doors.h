// What is behind a sandbox's two virtual ports, 49983 (envd) and 49999 (the code interpreter), and
// behind signed URLs of files. They come before any path of ours; see control/port_doors.h.
#pragma once

#include <memory>
#include <span>

#include "control/app.h"
#include "control/port_proxy.h"
#include "control/routes.h"
#include "http/router.h"

namespace glovebox::control::e2b {

std::span<const RouteRow> envd_routes();
std::span<const RouteRow> interpreter_routes();

class Doors {
 public:
  explicit Doors(App& app);
  // The route of a request for this port; null: it is an ordinary port of the sandbox.
  const http::Route* find(http::Request& request, const PortWish& wish) const;
  // A signed URL of a file, which names no sandbox; or null.
  const http::Route* find_signed(const http::Request& request) const;

 private:
  http::Router envd_;
  http::Router interpreter_;
  http::Route nothing_;  // 404
};

}  // namespace glovebox::control::e2b
