// One at a time, in the order in which they came, and only so many who wait.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <memory>

#include "base/task.h"
#include "node/runner.h"

namespace glovebox::control {

class Turns {
 public:
  static constexpr std::size_t kMaxWaiting = 16;

  explicit Turns(asio::io_context& io) : io_(io) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // kResourceExhausted: too many wait; kUnavailable: cancelled meanwhile. After success it is the
  // caller's turn until leave(). The Turns outlive the wait.
  Task<> take(std::shared_ptr<node::CancelFlag> cancel);
  void leave();
  bool taken() const { return taken_; }
  std::size_t waiting() const { return line_.size(); }

 private:
  struct Waiter {
    explicit Waiter(asio::io_context& io) : timer(io) {}
    asio::steady_timer timer;
    bool has_turn = false;
  };

  asio::io_context& io_;
  bool taken_ = false;
  std::deque<Waiter*> line_;  // each lives in its take()
};

}  // namespace glovebox::control
