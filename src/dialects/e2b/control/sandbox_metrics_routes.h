// What sandboxes use and what happened in them, as E2B's clients ask for it.
#pragma once

#include <span>

#include "base/task.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "sessions/session_registry.h"
#include "sessions/session_sampler.h"

namespace glovebox::e2b {

class SandboxMetricsRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    sessions::SessionRegistry& registry;
    sessions::SessionSampler& sampler;
  };
  explicit SandboxMetricsRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<SandboxMetricsRoutes>> rows();

  Task<http::Response> metrics(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> metrics_of_several(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> logs_v1(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> logs_v2(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::e2b
