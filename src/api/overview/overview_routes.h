// GET /v1/overview: how the server is doing, for the caller's project, or for all of an admin's.
#pragma once

#include <span>

#include "api/overview/overview_sampler.h"
#include "events/event_hub.h"
#include "http/message.h"
#include "node/runs/run_service.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "runs/activity.h"
#include "sessions/session_registry.h"

namespace glovebox::api {

class OverviewRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    const node::RunService& node;
    const sessions::SessionRegistry& registry;
    const runs::Activity& activity;
    const events::EventHub& events;
  };
  explicit OverviewRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<OverviewRoutes>> rows();

  Task<http::Response> overview(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
