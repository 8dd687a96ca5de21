// A lock for coroutines: one holder at a time, granted in the order of arrival, with a bounded
// number of waiters.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <memory>

#include "base/task.h"
#include "node/runs/run_job.h"

namespace glovebox::node {

class AsyncFifoLock {
 public:
  static constexpr std::size_t kMaxWaiting = 16;

  explicit AsyncFifoLock(asio::io_context& io) : io_(io) {}
  AsyncFifoLock(const AsyncFifoLock&) = delete;
  AsyncFifoLock& operator=(const AsyncFifoLock&) = delete;

  // kResourceExhausted: too many wait; kUnavailable: cancelled meanwhile. After success the caller
  // holds it until unlock(). The lock outlives the wait.
  Task<> lock(std::shared_ptr<node::CancelFlag> cancel);
  void unlock();
  bool is_locked() const { return is_locked_; }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiter {
    explicit Waiter(asio::io_context& io) : timer(io) {}
    asio::steady_timer timer;
    bool has_lock = false;
  };

  asio::io_context& io_;
  bool is_locked_ = false;
  std::deque<Waiter*> waiting_;  // each lives in its lock()
};

}  // namespace glovebox::node
