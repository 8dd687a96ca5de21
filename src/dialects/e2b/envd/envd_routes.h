// What E2B's agent reports of its sandbox: health, resource usage, environment.
#pragma once

#include <span>

#include "base/task.h"
#include "dialects/e2b/agent_access.h"
#include "http/message.h"
#include "routing/route_table.h"
#include "sessions/session_sampler.h"
#include "sessions/sessions.h"

namespace glovebox::e2b {

class EnvdRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    AgentAccess& access;
    const sessions::Sessions& sessions;
    sessions::SessionSampler& sampler;
  };
  explicit EnvdRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<EnvdRoutes>> rows();

  Task<http::Response> health(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> metrics(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> environment(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::e2b
