// A process that was started for somebody who waits for all of it: read to its end, or to the end
// of its time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/task.h"
#include "model/outcome.h"
#include "node/runs/run_job.h"
#include "node/sessions/session_service.h"

namespace glovebox::sessions {

struct Collected {
  wire::ProcessEnd end;
  Outcome outcome;  // without its output: the sink had that
};

// Past `limit` output is dropped, so that the command can end. At the deadline its group is killed.
// kConflict: another reader took over; kUnavailable: the session ended.
Task<Collected> collect_output(std::unique_ptr<node::Attachment> attachment,
                               std::shared_ptr<node::Session> session, node::RunSink& sink,
                               std::chrono::steady_clock::time_point deadline, std::uint64_t limit);

}  // namespace glovebox::sessions
