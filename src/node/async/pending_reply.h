// A reply of the launcher or the gateway that one coroutine waits for: a future with a deadline.
// Held by shared_ptr, by the waiter and by the callback that sets it. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/task.h"
#include "node/async/notifier.h"
#include "node/node_options.h"

namespace glovebox::node {

template <class T>
struct PendingReply {
  explicit PendingReply(boost::asio::io_context& io) : notifier(io) {}
  Notifier notifier;
  std::optional<Result<T>> result;
  void set(Result<T> what) {
    result = std::move(what);
    notifier.notify_all();
  }
  static Task<T> wait(std::shared_ptr<PendingReply> self, Clock::time_point deadline,
                      const char* who = "the launcher") {
    while (!self->result && Clock::now() < deadline) co_await self->notifier.wait(deadline);
    if (!self->result) co_return fail(Errc::kUnavailable, std::string(who) + " does not answer");
    co_return std::move(*self->result);
  }
};

}  // namespace glovebox::node
