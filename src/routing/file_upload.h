// A request's body into a file request of a session, piece by piece: as fast as the sandbox takes
// it and no faster. What did not come whole is not kept.
#pragma once

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"

namespace glovebox::routing {

// Commits, and waits for what came of it. Both outlive the call.
Task<wire::FileDone> take_upload(node::FileTransfer& transfer, http::BodyStream& body);

}  // namespace glovebox::routing
