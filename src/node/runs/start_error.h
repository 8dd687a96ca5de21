// What the agent's report that a program was not started means for the caller.
#pragma once

#include <string>

#include "base/error.h"
#include "node/runs/run_job.h"
#include "node/runs/start_frames.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::node {

// kInvalidArgument, or what model/program_refusal.h says, if it is the caller's mistake.
// `interpreter`: the program that runs code; an image may lack it.
Error start_error(const RunJob& job, StartMode mode, const std::string& interpreter,
                  const wire::StartFailed& failed);

}  // namespace glovebox::node
