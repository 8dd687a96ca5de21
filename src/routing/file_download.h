// The bytes of a session's file into an answer, piece by piece: as fast as the client takes them
// and no faster.
#pragma once

#include <cstdint>

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"

namespace glovebox::routing {

// Exactly `size` bytes were promised. Fewer is an error, and cuts the connection.
Task<> send_download(node::FileTransfer& transfer, std::uint64_t size,
                     http::ResponseWriter& writer);

}  // namespace glovebox::routing
