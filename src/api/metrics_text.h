// All metrics of a server as text for Prometheus. Labels are few, and their values are fixed or set
// by the administrator: never an id, a key or a project.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http/server/server.h"
#include "model/template.h"
#include "node/runs/run_service.h"
#include "packages/package_figures.h"
#include "runs/metrics.h"
#include "sessions/session_figures.h"
#include "store/store.h"

namespace glovebox::api {

struct ServerFigures {
  node::NodeFigures node{};
  store::Health store{};
  http::ServerFigures http{};
  std::vector<TemplateStatus> templates{};
  std::size_t event_subscribers = 0;
  sessions::SessionFigures sessions{};
  std::uint64_t snapshots = 0;  // kept now
  std::uint64_t snapshot_bytes = 0;
  packages::PackageFigures packages{};
};

std::string metrics_text(const runs::Metrics& metrics, const ServerFigures& figures);

}  // namespace glovebox::api
