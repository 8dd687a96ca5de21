// A request that waits for its sandbox, in the queue or while one is made for it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "node/async/wake_signal.h"
#include "node/node_options.h"
#include "node/pools/sandbox_request.h"
#include "node/sandboxes/sandbox.h"

namespace glovebox::node {

struct SandboxWaiter {
  SandboxWaiter(boost::asio::io_context& io, SandboxRequest wanted, Clock::time_point now)
      : request(std::move(wanted)), since(now), signal(io) {}
  SandboxRequest request;
  Clock::time_point since;
  Clock::time_point creating_since{};
  WakeSignal signal;
  std::optional<Result<std::unique_ptr<Sandbox>>> answer;
  bool queued = false;
  bool counted = false;  // in its pool's `waiting`
  bool missed = false;
  bool left = false;  // cancelled: what comes for it is dropped
};

}  // namespace glovebox::node
