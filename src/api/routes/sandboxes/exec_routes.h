// POST /v1/sandboxes/{id}/exec: runs a command in a session and collects its output, or leaves it
// running in the background.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/exec_runner.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"
#include "routing/worker.h"
#include "sessions/processes/process_starter.h"

namespace glovebox::api {

class ExecRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
    sessions::ProcessStarter& processes;
    routing::ExecRunner& execs;
    routing::Worker& worker;  // for large bodies
  };
  explicit ExecRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ExecRoutes>> rows();

  Task<http::Response> post_exec(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
