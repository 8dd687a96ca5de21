// POST /v1/sandboxes/{id}/exec: a command in a session, its output collected, or left running in the
// background.
#pragma once

#include <span>

#include "base/memory_budget.h"
#include "http/message.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"
#include "sessions/processes/oom_ledger.h"
#include "sessions/processes/process_starter.h"
#include "sessions/sessions.h"

namespace glovebox::api {

class ExecRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
    sessions::Sessions& sessions;
    sessions::ProcessStarter& processes;
    sessions::OomKillCounter& oom_kills;
    MemoryBudget& memory_budget;
    routing::LargeResponses& responses;
  };
  explicit ExecRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ExecRoutes>> rows();

  Task<http::Response> post_exec(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
