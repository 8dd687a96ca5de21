#include "node/async/async_fifo_lock.h"

#include <algorithm>

namespace glovebox::node {

Task<> AsyncFifoLock::lock(std::shared_ptr<CancelFlag> cancel) {
  if (cancel->cancelled()) co_return fail(Errc::kUnavailable, "the request was cancelled");
  if (!is_locked_) {
    is_locked_ = true;
    co_return Result<>();
  }
  if (waiting_.size() >= kMaxWaiting) {
    co_return fail(
        Errc::kResourceExhausted,
        std::to_string(kMaxWaiting) + " requests already wait for this sandbox or context");
  }
  Waiter self(io_);
  waiting_.push_back(&self);
  // Also when the coroutine is destroyed instead of resumed: the server stops.
  struct WaitingEntry {
    AsyncFifoLock& lock;
    Waiter& waiter;
    CancelFlag& cancel;
    ~WaitingEntry() {
      cancel.on_cancel({});
      std::erase(lock.waiting_, &waiter);
    }
  } waiting_entry{*this, self, *cancel};
  cancel->on_cancel([&self] { self.timer.cancel(); });
  while (!self.has_lock && !cancel->cancelled()) {
    self.timer.expires_at(std::chrono::steady_clock::time_point::max());
    co_await self.timer.async_wait(kAwaitTuple);
  }
  if (!self.has_lock) co_return fail(Errc::kUnavailable, "the request was cancelled");
  co_return Result<>();
}

void AsyncFifoLock::unlock() {
  if (waiting_.empty()) {
    is_locked_ = false;
    return;
  }
  Waiter* next = waiting_.front();
  waiting_.pop_front();
  next->has_lock = true;
  next->timer.cancel();
}

}  // namespace glovebox::node
