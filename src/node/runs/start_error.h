// What the agent's report that a program was not started means for the caller.
#pragma once

#include <string>

#include "base/error.h"
#include "node/runs/run_job.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::node {

// kInvalidArgument, or what model/program_refusal.h says, if it is the caller's mistake.
// `interpreter`: what runs code and may be missing, as in an image; empty: it is always there.
Error start_error(const RunJob& job, const std::string& interpreter,
                  const wire::StartFailed& failed);

}  // namespace glovebox::node
