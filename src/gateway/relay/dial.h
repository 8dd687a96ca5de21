// A connection from this host to exactly one address.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>

#include "base/task.h"
#include "base/unique_fd.h"
#include "net/address.h"

namespace glovebox::gateway {

// Returns a connected, non-blocking socket. `receive_bytes` bounds the socket's receive buffer (0:
// the kernel's default, which may be megabytes). `dialling` is the socket meanwhile; closing it
// cancels.
Task<UniqueFd> dial(std::shared_ptr<asio::posix::stream_descriptor> dialling,
                    net::IpAddress address, std::uint16_t port, std::size_t receive_bytes,
                    std::chrono::steady_clock::time_point deadline);

}  // namespace glovebox::gateway
