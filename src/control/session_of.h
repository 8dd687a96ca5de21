// The session that a request is about: the caller's own, and running.
#pragma once

#include <memory>

#include "base/result.h"
#include "control/app.h"
#include "http/message.h"
#include "node/session_service.h"

namespace glovebox::control {

Result<std::shared_ptr<node::Session>> session_of(App& app, const http::Request& request);

}  // namespace glovebox::control
