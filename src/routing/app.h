// What the handlers of all routes share: the host that runs code, what is remembered, and the
// figures. Lives on the server's one thread, longer than any request.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "dialects/mcp/settings.h"
#include "dialects/workspace/settings.h"
#include "events/event_hub.h"
#include "http/server/server.h"
#include "model/wall.h"
#include "net/net_policy.h"
#include "node/networks/network_service.h"
#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "runs/metrics.h"
#include "sessions/contexts/context_table.h"
#include "sessions/processes/input_pump.h"
#include "sessions/processes/oom_ledger.h"
#include "sessions/sessions.h"
#include "store/key_usage.h"
#include "store/store.h"

namespace glovebox::packages {
class PackageService;
}
namespace glovebox::sessions {
class SessionKeeper;
}
namespace glovebox::templates {
class ProjectTemplates;
}
namespace glovebox::sessions_api {
class Executions;
}
namespace glovebox::e2b {
class ProcessRegistry;
class Watchers;
}  // namespace glovebox::e2b
namespace glovebox::mcp {
class Conversations;
}

namespace glovebox::routing {

struct AppSettings {
  // Off loopback, /metrics and /docs need a key.
  bool is_loopback = true;
  EngineKind engine = EngineKind::kJail;
  std::optional<Grade> min_grade;  // the administrator's floor; a request may only raise it
  bool log_requests = true;
  std::string version;
  // What tokens of sandboxes are made with; the same after a restart. Empty: there are none.
  std::string secret;
  std::string domain;  // names of sandboxes' ports are below it; empty: none is configured
  std::uint64_t max_held_output = 512ull << 20;
  net::NetCeiling ceiling{};  // what the administrator lets sandboxes reach
  workspace::Settings workspace{};
  mcp::Settings mcp{};
};

struct App {
  App(boost::asio::io_context& context, node::RunService& node_,
      node::SessionService& session_service_, store::Store& store_, sessions::Sessions& sessions_,
      AppSettings settings_)
      : io(context),
        node(node_),
        session_service(session_service_),
        store(store_),
        sessions(sessions_),
        settings(std::move(settings_)),
        memory_budget(settings.max_held_output),
        events(context.get_executor()),
        ooms(session_service_),
        inputs(context),
        contexts(context, sessions_, ooms) {}

  boost::asio::io_context& io;
  node::RunService& node;
  node::SessionService& session_service;
  store::Store& store;
  sessions::Sessions& sessions;
  AppSettings settings;
  MemoryBudget memory_budget;
  // For what would keep the server's one thread from everybody else: answers of many megabytes.
  boost::asio::thread_pool worker{1};
  store::KeyUsage usage;
  runs::Metrics metrics;
  events::EventHub events;
  sessions::OomKillCounter ooms;
  sessions::InputPumps inputs;
  sessions::Contexts contexts;
  std::shared_ptr<e2b::ProcessRegistry> e2b_processes{};    // from the first that is started
  std::shared_ptr<e2b::Watchers> e2b_watchers{};        // from the first that is made
  std::shared_ptr<mcp::Conversations> conversations{};  // from the first that is begun
  sessions::SessionKeeper* keeper = nullptr;           // what `sessions` is, to those who change them
  templates::ProjectTemplates* templates = nullptr;         // what projects made for themselves; null: nothing
  packages::PackageService* dependencies = nullptr;    // null: no packages can be asked for
  node::NetworkService* networks = nullptr;  // null: no sandbox can have one
  std::shared_ptr<sessions_api::Executions> executions;  // made when somebody executes
  std::function<http::ServerFigures()> http_figures;     // set when there is a server
  bool stopping = false;                                 // no longer ready
};

}  // namespace glovebox::routing
