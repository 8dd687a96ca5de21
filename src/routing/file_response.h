// A file of a session as the answer to GET or HEAD: its headers, the byte range that the request
// asks for, and the bytes, as fast as the client takes them.
#pragma once

#include <memory>

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "wire/guest/session_frames.h"

namespace glovebox::routing {

// `file` names the path and the user; the rest of it is filled in here.
Task<http::Response> respond_with_file(std::shared_ptr<node::Session> session,
                                       wire::FileRequest file, http::Request& request,
                                       http::ResponseWriter& writer);

}  // namespace glovebox::routing
