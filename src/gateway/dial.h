// A connection from this host to exactly one address.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>

#include "base/task.h"
#include "base/unique_fd.h"
#include "net/address.h"

namespace glovebox::gateway {

// Connected and non-blocking, or why not. `dialling` is the socket while it is under way: whoever
// closes it gives up.
Task<UniqueFd> dial(std::shared_ptr<asio::posix::stream_descriptor> dialling,
                    net::IpAddress address, std::uint16_t port,
                    std::chrono::steady_clock::time_point deadline);

}  // namespace glovebox::gateway
