// POST /v1/sandboxes/{id}/code: runs one cell in a context, and answers with one object or with
// live events.
#pragma once

#include <span>

#include "base/memory_budget.h"
#include "http/message.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"
#include "routing/worker.h"
#include "sessions/contexts/context_table.h"

namespace glovebox::api {

class CodeRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
    sessions::Contexts& contexts;
    MemoryBudget& memory_budget;
    routing::LargeResponses& responses;
    routing::Worker& worker;  // for large bodies
  };
  explicit CodeRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<CodeRoutes>> rows();

  Task<http::Response> post_code(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
