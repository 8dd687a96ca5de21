// Collects the output of a process for a caller that waits for all of it: until the process ends
// or its deadline passes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/task.h"
#include "model/outcome.h"
#include "node/runs/run_job.h"
#include "node/sessions/session_service.h"

namespace glovebox::sessions {

struct CollectedOutput {
  wire::ProcessEnd end;
  Outcome outcome;  // without the output, which the sink has received
};

// Drops output beyond `limit`, so that the command can end. Kills its group at the deadline.
// kConflict: another reader took over; kUnavailable: the session ended.
Task<CollectedOutput> collect_output(std::unique_ptr<node::Attachment> attachment,
                                     std::shared_ptr<node::Session> session, node::RunSink& sink,
                                     std::chrono::steady_clock::time_point deadline,
                                     std::uint64_t limit);

}  // namespace glovebox::sessions
