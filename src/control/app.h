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

#include "control/contexts.h"
#include "control/dialects/mcp/settings.h"
#include "control/dialects/workspace/settings.h"
#include "control/event_hub.h"
#include "control/held_output.h"
#include "control/input_pump.h"
#include "control/metrics.h"
#include "control/oom_ledger.h"
#include "control/sessions.h"
#include "http/server.h"
#include "model/wall.h"
#include "net/net_policy.h"
#include "node/network_service.h"
#include "node/run_service.h"
#include "node/session_service.h"
#include "store/key_usage.h"
#include "store/store.h"

namespace glovebox::control {

class DependencyBook;
class SessionKeeper;
class TemplateBook;
namespace sessions_api {
class Executions;
}
namespace e2b {
class ProcessHubs;
class Watchers;
}  // namespace e2b
namespace mcp {
class Conversations;
}

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
      node::SessionService& session_service_, store::Store& store_, Sessions& sessions_,
      AppSettings settings_)
      : io(context),
        node(node_),
        session_service(session_service_),
        store(store_),
        sessions(sessions_),
        settings(std::move(settings_)),
        held_output(settings.max_held_output),
        events(context.get_executor()),
        ooms(session_service_),
        inputs(context),
        contexts(context, sessions_, ooms) {}

  boost::asio::io_context& io;
  node::RunService& node;
  node::SessionService& session_service;
  store::Store& store;
  Sessions& sessions;
  AppSettings settings;
  HeldOutput held_output;
  // For what would keep the server's one thread from everybody else: answers of many megabytes.
  boost::asio::thread_pool worker{1};
  store::KeyUsage usage;
  Metrics metrics;
  EventHub events;
  OomLedger ooms;
  InputPumps inputs;
  Contexts contexts;
  std::shared_ptr<e2b::ProcessHubs> e2b_processes{};    // from the first that is started
  std::shared_ptr<e2b::Watchers> e2b_watchers{};        // from the first that is made
  std::shared_ptr<mcp::Conversations> conversations{};  // from the first that is begun
  SessionKeeper* keeper = nullptr;           // what `sessions` is, to those who change them
  TemplateBook* templates = nullptr;         // what projects made for themselves; null: nothing
  DependencyBook* dependencies = nullptr;    // null: no packages can be asked for
  node::NetworkService* networks = nullptr;  // null: no sandbox can have one
  std::shared_ptr<sessions_api::Executions> executions;  // made when somebody executes
  std::function<http::ServerFigures()> http_figures;     // set when there is a server
  bool stopping = false;                                 // no longer ready
};

}  // namespace glovebox::control
