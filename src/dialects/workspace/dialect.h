// /workspace/se: sessions under the client's own ids, with code, commands and files. A translation
// onto the sessions that /v1 has; its errors have the form of /v1, too.
//
// It has no state of its own: a client's id is the agent_id of a session.
#pragma once

#include <vector>

#include "base/memory_budget.h"
#include "dialects/workspace/client_sessions.h"
#include "dialects/workspace/execute_routes.h"
#include "dialects/workspace/file_routes.h"
#include "dialects/workspace/session_routes.h"
#include "dialects/workspace/settings.h"
#include "dialects/workspace/upload_routes.h"
#include "routing/authenticator.h"
#include "routing/exec_runner.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/sandbox_creation.h"
#include "routing/worker.h"
#include "sessions/contexts/context_table.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_registry.h"
#include "sessions/sessions.h"

namespace glovebox::workspace {

// All are borrowed and outlive the dialect.
struct Dependencies {
  const routing::Authenticator& authenticator;
  routing::SandboxCreation& creation;
  routing::ExecRunner& execs;
  routing::LargeResponses& responses;
  routing::Worker& worker;
  sessions::Sessions& sessions;
  const sessions::SessionRegistry& registry;
  sessions::SessionLifecycle& lifecycle;
  sessions::Contexts& contexts;
  MemoryBudget& memory_budget;
};

class Dialect {
 public:
  Dialect(const Dependencies& on, Settings settings);
  Dialect(const Dialect&) = delete;
  Dialect& operator=(const Dialect&) = delete;

  // The dialect outlives the routes.
  void add_routes(routing::RouteTable& table);
  static void append_info(std::vector<routing::RouteInfo>& all);

 private:
  const Settings settings_;
  const ClientSessions client_sessions_;
  SessionRoutes session_routes_;
  ExecuteRoutes execute_routes_;
  UploadRoutes upload_routes_;
  FileRoutes file_routes_;
};

}  // namespace glovebox::workspace
