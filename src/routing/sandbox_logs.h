// The newest log lines of a session as JSON: what was started in it, what ended, and why.
#pragma once

#include "base/task.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "sessions/session_registry.h"

namespace glovebox::routing {

// Of the path parameter "id"; `limit` of the query says how many. kNotFound.
Task<http::Response> respond_with_logs(const Authenticator& authenticator,
                                       sessions::SessionRegistry& registry,
                                       const http::Request& request);

}  // namespace glovebox::routing
