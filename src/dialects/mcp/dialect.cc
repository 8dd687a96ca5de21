#include "dialects/mcp/dialect.h"

#include <utility>

namespace glovebox::mcp {

Dialect::Dialect(const Dependencies& on, Settings settings, std::string server_version)
    : settings_(std::move(settings)),
      conversations_(on.io, on.registry, settings_),
      sandboxes_({on.io, on.node, on.sessions, on.registry, on.lifecycle, on.creation}, settings_),
      code_tools_({sandboxes_, on.sessions, on.contexts, on.processes, on.oom_kills, on.networks,
                   on.memory_budget},
                  settings_),
      file_tools_(sandboxes_, on.memory_budget, settings_),
      toolbox_(code_tools_, file_tools_, sandboxes_),
      messages_({on.io, on.authenticator, on.watcher, on.responses, on.worker, on.memory_budget,
                 conversations_, sandboxes_, toolbox_},
                settings_, std::move(server_version)) {}

void Dialect::add_routes(routing::RouteTable& table) {
  table.add(messages_, MessageRoutes::rows());
}

void Dialect::append_info(std::vector<routing::RouteInfo>& all) {
  routing::append_info(all, MessageRoutes::rows());
}

}  // namespace glovebox::mcp
