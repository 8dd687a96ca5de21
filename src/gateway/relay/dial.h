// A connection from this host to exactly one address.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>

#include "base/task.h"
#include "base/unique_fd.h"
#include "net/address.h"

namespace glovebox::gateway {

// Connected and non-blocking, or why not. `receive_bytes` bounds what of the server's may wait to
// be relayed (0: as the kernel likes, which may be megabytes). `dialling` is the socket while it is
// under way: whoever closes it gives up.
Task<UniqueFd> dial(std::shared_ptr<asio::posix::stream_descriptor> dialling,
                    net::IpAddress address, std::uint16_t port, std::size_t receive_bytes,
                    std::chrono::steady_clock::time_point deadline);

}  // namespace glovebox::gateway
