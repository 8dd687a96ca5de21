// The session that a request is about: the caller's own, and running.
#pragma once

#include <memory>

#include "base/result.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "routing/app.h"

namespace glovebox::routing {

Result<std::shared_ptr<node::Session>> session_of(App& app, const http::Request& request);

}  // namespace glovebox::routing
