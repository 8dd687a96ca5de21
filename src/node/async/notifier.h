// Wakes everybody who waits. Nothing is kept: whoever waits has looked first, and looks again.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <vector>

#include "base/task.h"

namespace glovebox::node {

class Bell {
 public:
  explicit Bell(boost::asio::io_context& io) : io_(io) {}
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // Nobody is resumed in here, so that it may be called from anywhere.
  void ring() {
    for (boost::asio::steady_timer* timer : waiting_) timer->cancel();
  }

  // Until the bell rings or the time has come. The bell outlives the wait.
  boost::asio::awaitable<void> wait(std::chrono::steady_clock::time_point deadline) {
    Waiting waiting(*this, deadline);
    (void)co_await waiting.timer.async_wait(kAwaitTuple);
  }

 private:
  struct Waiting {
    Waiting(Bell& one, std::chrono::steady_clock::time_point deadline)
        : bell(one), timer(one.io_, deadline) {
      bell.waiting_.push_back(&timer);
    }
    ~Waiting() { std::erase(bell.waiting_, &timer); }
    Bell& bell;
    boost::asio::steady_timer timer;
  };

  boost::asio::io_context& io_;
  std::vector<boost::asio::steady_timer*> waiting_;
};

}  // namespace glovebox::node
