#include "node/async_fifo_lock.h"

#include <algorithm>

namespace glovebox::node {

Task<> AsyncFifoLock::take(std::shared_ptr<node::CancelFlag> cancel) {
  if (cancel->cancelled()) co_return fail(Errc::kUnavailable, "nobody waits for it any more");
  if (!taken_) {
    taken_ = true;
    co_return Result<>();
  }
  if (line_.size() >= kMaxWaiting) {
    co_return fail(Errc::kResourceExhausted,
                   std::to_string(kMaxWaiting) + " wait for this context already");
  }
  Waiter self(io_);
  line_.push_back(&self);
  // Also when the coroutine is destroyed instead of resumed: the server stops.
  struct Place {
    AsyncFifoLock& turns;
    Waiter& waiter;
    node::CancelFlag& cancel;
    ~Place() {
      cancel.on_cancel({});
      std::erase(turns.line_, &waiter);
    }
  } place{*this, self, *cancel};
  cancel->on_cancel([&self] { self.timer.cancel(); });
  while (!self.has_turn && !cancel->cancelled()) {
    self.timer.expires_at(std::chrono::steady_clock::time_point::max());
    co_await self.timer.async_wait(kAwaitTuple);
  }
  if (!self.has_turn) co_return fail(Errc::kUnavailable, "nobody waits for it any more");
  co_return Result<>();
}

void AsyncFifoLock::leave() {
  if (line_.empty()) {
    taken_ = false;
    return;
  }
  Waiter* next = line_.front();
  line_.pop_front();
  next->has_turn = true;
  next->timer.cancel();
}

}  // namespace glovebox::node
