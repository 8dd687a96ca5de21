// Waits for a client's TLS ClientHello without consuming it (MSG_PEEK): the relay then passes on
// the same bytes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>

#include "base/task.h"
#include "net/client_hello.h"

namespace glovebox::gateway {

using Socket = asio::posix::stream_descriptor;

// Never HelloIncomplete: a client that has not sent it by `deadline`, closes, or sends it in too
// many pieces is refused. Returns early when the socket is closed.
asio::awaitable<net::HelloResult> read_hello(std::shared_ptr<Socket> client,
                                             std::chrono::steady_clock::time_point deadline);

}  // namespace glovebox::gateway
