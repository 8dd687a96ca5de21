// For operators: liveness and readiness of the server, its metrics, and garbage collection.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "events/event_hub.h"
#include "http/message.h"
#include "http/server/server.h"
#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "packages/package_service.h"
#include "routing/route_table.h"
#include "runs/metrics.h"
#include "sessions/session_registry.h"
#include "snapshots/snapshot_store.h"
#include "store/store.h"

namespace glovebox::api {

class OperationsRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const std::string& version;
    const node::RunService& node;
    const node::SessionService& session_service;
    store::Store& store;
    runs::Metrics& metrics;
    events::EventHub& events;
    sessions::SessionRegistry& registry;
    snapshots::SnapshotStore& snapshots;
    packages::PackageService& packages;
    const std::function<http::ServerFigures()>& http_figures;
    const bool& is_stopping;
  };
  explicit OperationsRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<OperationsRoutes>> rows();

  Task<http::Response> health(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> health_ready(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> metrics(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> collect_garbage(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
