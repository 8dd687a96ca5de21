// GET /v1/sandboxes/{id}/metrics, …/logs and …/network: the resource usage of a sandbox, its log,
// and its network policy.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "sessions/session_networks.h"
#include "sessions/session_registry.h"
#include "sessions/session_sampler.h"

namespace glovebox::api {

class SandboxMetricsRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    sessions::SessionRegistry& registry;
    sessions::SessionSampler& sampler;
    sessions::SessionNetworks& networks;
  };
  explicit SandboxMetricsRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<SandboxMetricsRoutes>> rows();

  Task<http::Response> sandbox_metrics(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> sandbox_logs(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> sandbox_network(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
