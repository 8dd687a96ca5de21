// Work that many callers want done at the same time is done once for all of them. Callers that come
// while it is under way share the next one: what they see was looked at after they had asked. One
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/task.h"
#include "node/async/notifier.h"

namespace glovebox::node {

class SharedCall {
 public:
  using Work = std::function<Task<>()>;

  explicit SharedCall(boost::asio::io_context& io) : io_(io), ended_(io) {}
  SharedCall(const SharedCall&) = delete;
  SharedCall& operator=(const SharedCall&) = delete;

  // `work` ends in bounded time. This object outlives the call.
  Task<> call(Work work) {
    if (const std::shared_ptr<Round> next = next_) {
      while (!next->done) co_await next->ended.wait(kForever);
      co_return *next->done;
    }
    const auto round = std::make_shared<Round>(io_);
    if (is_under_way_) {
      next_ = round;
      while (is_under_way_) co_await ended_.wait(kForever);
      next_.reset();
    }
    is_under_way_ = true;
    round->done = co_await work();
    is_under_way_ = false;
    round->ended.notify_all();
    ended_.notify_all();
    co_return *round->done;
  }

 private:
  struct Round {
    explicit Round(boost::asio::io_context& io) : ended(io) {}
    Notifier ended;
    std::optional<Result<>> done{};
  };
  static constexpr auto kForever = std::chrono::steady_clock::time_point::max();

  boost::asio::io_context& io_;
  bool is_under_way_ = false;
  Notifier ended_;
  std::shared_ptr<Round> next_;  // not begun
};

}  // namespace glovebox::node
