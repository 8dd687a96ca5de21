// /api/v1: sessions that run Lambda-style handlers asynchronously, the same sandboxes as
// containers, and templates. Its errors have the form of /v1.
//
// Owns the executions: what runs, and the last results. Single-threaded, on the server's
// io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <vector>

#include "base/memory_budget.h"
#include "dialects/sessions_api/container_routes.h"
#include "dialects/sessions_api/execution_routes.h"
#include "dialects/sessions_api/executions.h"
#include "dialects/sessions_api/session_routes.h"
#include "dialects/sessions_api/template_routes.h"
#include "routing/authenticator.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/sandbox_creation.h"
#include "routing/template_requests.h"
#include "routing/worker.h"
#include "runs/run_log.h"
#include "sessions/contexts/context_table.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_registry.h"
#include "sessions/sessions.h"
#include "store/store.h"

namespace glovebox::sessions_api {

// All are borrowed and outlive the dialect.
struct Dependencies {
  asio::io_context& io;
  store::Store& store;
  const routing::Authenticator& authenticator;
  routing::SandboxCreation& creation;
  const routing::TemplateRequests& templates;
  routing::LargeResponses& responses;
  routing::Worker& worker;
  runs::RunLog& run_log;
  sessions::Sessions& sessions;
  sessions::SessionRegistry& registry;
  sessions::SessionLifecycle& lifecycle;
  sessions::Contexts& contexts;
  MemoryBudget& memory_budget;
};

class Dialect {
 public:
  explicit Dialect(const Dependencies& on);
  Dialect(const Dialect&) = delete;
  Dialect& operator=(const Dialect&) = delete;

  // The dialect outlives the routes, and the executions that they start.
  void add_routes(routing::RouteTable& table);
  static void append_info(std::vector<routing::RouteInfo>& all);

 private:
  Executions executions_;
  SessionRoutes session_routes_;
  ExecutionRoutes execution_routes_;
  ContainerRoutes container_routes_;
  TemplateRoutes template_routes_;
};

}  // namespace glovebox::sessions_api
