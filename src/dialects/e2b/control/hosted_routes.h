// Routes of features that only E2B's hosted service has: builds, volumes, secrets, teams. They are
// answered with 501 and a pointer to the documentation.
#pragma once

#include <span>

#include "base/task.h"
#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::e2b {

class HostedRoutes {
 public:
  static std::span<const routing::RouteRow<HostedRoutes>> rows();

  Task<http::Response> refuse(http::Request& request, http::ResponseWriter& writer);
};

}  // namespace glovebox::e2b
