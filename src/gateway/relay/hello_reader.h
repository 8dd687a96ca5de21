// Waits for a client's TLS ClientHello without taking a byte of it: what is looked at here is what
// the relay passes on.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>

#include "base/task.h"
#include "net/client_hello.h"

namespace glovebox::gateway {

using Socket = asio::posix::stream_descriptor;

// Never HelloIncomplete: a client that says too little until `deadline`, ends, or sends it in too
// many pieces is refused. Ends early when the socket is closed.
asio::awaitable<net::HelloResult> read_hello(std::shared_ptr<Socket> client,
                                             std::chrono::steady_clock::time_point deadline);

}  // namespace glovebox::gateway
