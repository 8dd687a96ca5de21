// The agent of a session (a persistent sandbox): PID 1 of a sealed sandbox. One event loop serves
// the server, the launcher and all processes without blocking on any of them. It reaps orphans, and
// exits when its sockets are closed.
#pragma once

#include "guest/agent/session/session_plan.h"

namespace glovebox::agent {

// Returns the exit status, once the session is over.
int serve_session(SessionPlan plan);

}  // namespace glovebox::agent
