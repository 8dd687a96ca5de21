// Answers GET or HEAD with a file of a session: the headers, the requested byte range, and the
// bytes, only as fast as the client takes them.
#pragma once

#include <memory>

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "wire/guest/session_frames.h"

namespace glovebox::routing {

// `file` has the path and the user; this fills in the rest.
Task<http::Response> respond_with_file(std::shared_ptr<node::Session> session,
                                       wire::FileRequest file, http::Request& request,
                                       http::ResponseWriter& writer);

}  // namespace glovebox::routing
