// Streams a session's file into an answer, only as fast as the client takes it.
#pragma once

#include <cstdint>

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"

namespace glovebox::routing {

// The answer's header promises exactly `size` bytes. Fewer are an error, which cuts the connection.
Task<> send_download(node::FileTransfer& transfer, std::uint64_t size,
                     http::ResponseWriter& writer);

}  // namespace glovebox::routing
