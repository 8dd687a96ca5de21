// The newest log lines of a session as JSON: which processes started and ended, and why.
#pragma once

#include "base/task.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "sessions/session_registry.h"

namespace glovebox::routing {

// Reads the path parameter "id" and the query parameter `limit`. kNotFound.
Task<http::Response> respond_with_logs(const Authenticator& authenticator,
                                       sessions::SessionRegistry& registry,
                                       const http::Request& request);

}  // namespace glovebox::routing
