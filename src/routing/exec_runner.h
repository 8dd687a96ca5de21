// Runs a command in a session for a request that waits for it, and answers with all of its output:
// {"process","pid","exit_code","signal","timed_out","oom_killed","truncated","metrics","stdout",
// "stderr"}. A client that disconnects kills the command.
#pragma once

#include <memory>

#include "base/memory_budget.h"
#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "routing/large_responses.h"
#include "sessions/processes/exec_request.h"
#include "sessions/processes/oom_kill_counter.h"
#include "sessions/processes/process_starter.h"
#include "sessions/sessions.h"

namespace glovebox::routing {

class ExecRunner {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    sessions::Sessions& sessions;
    sessions::ProcessStarter& processes;
    sessions::OomKillCounter& oom_kills;
    MemoryBudget& memory_budget;
    LargeResponses& responses;
  };
  explicit ExecRunner(Dependencies dependencies) : deps_(dependencies) {}

  // Errors as ProcessStarter::start_exec's; kResourceExhausted: too much input or output is already
  // held. The default timeout of a command is 60 seconds.
  Task<http::Response> run(http::Request& request, std::shared_ptr<node::Session> session,
                           sessions::ExecRequest exec);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::routing
