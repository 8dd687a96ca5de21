// /workspace/se/execute_code: a cell in the session's Python context, whose state lasts, or a shell
// script. /workspace/se/execute: a command. Scripts and commands run as POST
// /v1/sandboxes/{id}/exec runs them.
#pragma once

#include <chrono>
#include <memory>
#include <span>

#include "base/memory_budget.h"
#include "base/task.h"
#include "dialects/workspace/client_sessions.h"
#include "dialects/workspace/requests.h"
#include "dialects/workspace/settings.h"
#include "http/message.h"
#include "routing/exec_runner.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "sessions/contexts/context_table.h"

namespace glovebox::workspace {

class ExecuteRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const ClientSessions& clients;
    sessions::Contexts& contexts;
    routing::ExecRunner& execs;
    MemoryBudget& memory_budget;
    routing::LargeResponses& responses;
    routing::Worker& worker;  // for large bodies
  };
  ExecuteRoutes(Dependencies dependencies, const Settings& settings)
      : deps_(dependencies), settings_(settings) {}

  static std::span<const routing::RouteRow<ExecuteRoutes>> rows();

  Task<http::Response> execute_code(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> execute_command(http::Request& request, http::ResponseWriter& writer);

 private:
  Task<http::Response> run_python(http::Request& request, std::shared_ptr<node::Session> session,
                                  CodeRequest code, std::chrono::milliseconds default_timeout);

  const Dependencies deps_;
  const Settings& settings_;
};

}  // namespace glovebox::workspace
