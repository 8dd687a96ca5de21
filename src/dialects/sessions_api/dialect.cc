#include "dialects/sessions_api/dialect.h"

namespace glovebox::sessions_api {

Dialect::Dialect(const Dependencies& on)
    : session_routes_({on.authenticator, on.registry, on.lifecycle, on.creation, executions_}),
      execution_routes_({on.io, on.store, on.authenticator, on.sessions, on.registry, on.lifecycle,
                         on.contexts, on.run_log, on.memory_budget, on.responses, on.worker,
                         executions_}),
      container_routes_({on.store, on.authenticator, on.registry}),
      template_routes_(on.templates) {}

void Dialect::add_routes(routing::RouteTable& table) {
  table.add(session_routes_, SessionRoutes::rows());
  table.add(execution_routes_, ExecutionRoutes::rows());
  table.add(container_routes_, ContainerRoutes::rows());
  table.add(template_routes_, TemplateRoutes::rows());
}

void Dialect::append_info(std::vector<routing::RouteInfo>& all) {
  routing::append_info(all, SessionRoutes::rows());
  routing::append_info(all, ExecutionRoutes::rows());
  routing::append_info(all, ContainerRoutes::rows());
  routing::append_info(all, TemplateRoutes::rows());
}

}  // namespace glovebox::sessions_api
