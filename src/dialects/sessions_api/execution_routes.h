// POST /api/v1/sessions/{id}/execute, answered at once, and GET …/result, which has the outcome.
// The handler runs as a cell of the session's Python context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <span>
#include <string>

#include "base/memory_budget.h"
#include "base/task.h"
#include "dialects/sessions_api/executions.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/run_output.h"
#include "routing/worker.h"
#include "runs/run_log.h"
#include "sessions/contexts/context_table.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_registry.h"
#include "sessions/sessions.h"
#include "store/session_record.h"
#include "store/store.h"

namespace glovebox::sessions_api {

class ExecutionRoutes {
 public:
  // All are borrowed and outlive this, and this outlives the executions it started.
  struct Dependencies {
    asio::io_context& io;
    store::Store& store;
    const routing::Authenticator& authenticator;
    sessions::Sessions& sessions;
    sessions::SessionRegistry& registry;
    sessions::SessionLifecycle& lifecycle;
    sessions::Contexts& contexts;
    runs::RunLog& run_log;
    MemoryBudget& memory_budget;
    routing::LargeResponses& responses;
    routing::Worker& worker;  // for large bodies
    Executions& executions;
  };
  explicit ExecutionRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ExecutionRoutes>> rows();

  Task<http::Response> execute(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> execution_result(http::Request& request, http::ResponseWriter& writer);

 private:
  struct Job;

  asio::awaitable<void> run_job(Job job);
  // A session must not expire in the middle of what it runs.
  asio::awaitable<void> extend_session(const Job& job);
  Task<sessions::CellReport> run_cell(const Job& job, routing::KeepingSink& sink);
  // Of an execution that is not in memory any more: what its run record has.
  Task<http::Response> result_from_store(store::SessionRecord record, std::string execution_id);

  const Dependencies deps_;
};

}  // namespace glovebox::sessions_api
