// Streams a request's body into a file request of a session, only as fast as the sandbox takes it.
// An incomplete body is discarded.
#pragma once

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"

namespace glovebox::routing {

// Leaves it to the caller to commit. Both arguments outlive the call.
Task<> send_upload(node::FileTransfer& transfer, http::BodyStream& body);
// Commits, and waits for the result. Both arguments outlive the call.
Task<wire::FileDone> take_upload(node::FileTransfer& transfer, http::BodyStream& body);

}  // namespace glovebox::routing
