#include "dialects/workspace/dialect.h"

#include <utility>

namespace glovebox::workspace {

Dialect::Dialect(const Dependencies& on, Settings settings)
    : settings_(std::move(settings)),
      client_sessions_({on.authenticator, on.registry, on.sessions}, settings_),
      session_routes_({client_sessions_, on.registry, on.lifecycle, on.creation}, settings_),
      execute_routes_(
          {client_sessions_, on.contexts, on.execs, on.memory_budget, on.responses, on.worker},
          settings_),
      upload_routes_(client_sessions_),
      file_routes_(client_sessions_) {}

void Dialect::add_routes(routing::RouteTable& table) {
  table.add(session_routes_, SessionRoutes::rows());
  table.add(execute_routes_, ExecuteRoutes::rows());
  table.add(upload_routes_, UploadRoutes::rows());
  table.add(file_routes_, FileRoutes::rows());
}

void Dialect::append_info(std::vector<routing::RouteInfo>& all) {
  routing::append_info(all, SessionRoutes::rows());
  routing::append_info(all, ExecuteRoutes::rows());
  routing::append_info(all, UploadRoutes::rows());
  routing::append_info(all, FileRoutes::rows());
}

}  // namespace glovebox::workspace
