// How a run ended, from what the launcher and the agent report of it.
#pragma once

#include <optional>

#include "model/limits.h"
#include "model/outcome.h"
#include "node/sandboxes/sandbox.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::node {

// `exited`: of the program, if it ended by itself. `overdue`: it was ended for its time.
Outcome with_end(Outcome outcome, const Limits& limits, const Sandbox::Ended& ended,
                 const std::optional<wire::ProgramExited>& exited, bool overdue);

}  // namespace glovebox::node
