// Wakes all waiting coroutines, like a condition variable: notify_all() without a waiter is lost,
// so a waiter checks its condition before and after wait(). One thread.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <vector>

#include "base/task.h"

namespace glovebox::node {

class Notifier {
 public:
  explicit Notifier(boost::asio::io_context& io) : io_(io) {}
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Waiters are resumed later, not in here, so it may be called from anywhere.
  void notify_all() {
    for (boost::asio::steady_timer* timer : waiting_) timer->cancel();
  }

  // Until notify_all() is called or the deadline has passed. This object outlives the wait.
  boost::asio::awaitable<void> wait(std::chrono::steady_clock::time_point deadline) {
    Waiting waiting(*this, deadline);
    (void)co_await waiting.timer.async_wait(kAwaitTuple);
  }

 private:
  struct Waiting {
    Waiting(Notifier& one, std::chrono::steady_clock::time_point deadline)
        : notifier(one), timer(one.io_, deadline) {
      notifier.waiting_.push_back(&timer);
    }
    ~Waiting() { std::erase(notifier.waiting_, &timer); }
    Notifier& notifier;
    boost::asio::steady_timer timer;
  };

  boost::asio::io_context& io_;
  std::vector<boost::asio::steady_timer*> waiting_;
};

}  // namespace glovebox::node
