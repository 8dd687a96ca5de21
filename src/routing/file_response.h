// Answers GET or HEAD with a file of a session: the headers, the requested byte range, and the
// bytes, only as fast as the client takes them.
#pragma once

#include <memory>
#include <string>

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "wire/guest/file_records.h"
#include "wire/guest/session_frames.h"

namespace glovebox::routing {

// A file's ETag: it changes with the content, unless it is written twice within one tick of the
// kernel's clock (about 4 ms) and has the same size after both.
std::string file_etag(const wire::FileEntry& entry);

// `file` has the path and the user; this fills in the rest.
Task<http::Response> respond_with_file(std::shared_ptr<node::Session> session,
                                       wire::FileRequest file, http::Request& request,
                                       http::ResponseWriter& writer);

}  // namespace glovebox::routing
