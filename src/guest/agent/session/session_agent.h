// The agent of a session: PID 1 of a sealed sandbox that lives, holds state and is talked to. One
// loop that never waits for anybody but all of them: the server, the launcher, and its children. It
// reaps whatever is orphaned, and ends with its sockets.
#pragma once

#include "guest/agent/session/session_plan.h"

namespace glovebox::agent {

// Returns the exit status, once the session is over.
int serve_session(SessionPlan plan);

}  // namespace glovebox::agent
