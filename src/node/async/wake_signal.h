// An auto-reset event for one waiting coroutine. set() without a waiter is remembered, and several
// count as one: after wait() the coroutine checks what has changed. One thread.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

#include "base/assert.h"

namespace glovebox::node {

class WakeSignal {
 public:
  explicit WakeSignal(boost::asio::io_context& io) : io_(io) {}
  WakeSignal(const WakeSignal&) = delete;
  WakeSignal& operator=(const WakeSignal&) = delete;

  // Posts and does not resume in here, so that it may be called from anywhere.
  void set() {
    if (set_) return;
    set_ = true;
    if (!waiter_) return;
    boost::asio::post(io_, [waiter = std::move(waiter_)] { waiter->resume(); });
  }

  boost::asio::awaitable<void> wait() {
    if (!set_) {
      auto begin = [this](auto handler) {
        GBX_ASSERT(!waiter_);
        waiter_ = std::make_unique<Holder<decltype(handler)>>(std::move(handler));
      };
      co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
          begin, boost::asio::use_awaitable);
    }
    set_ = false;
  }

 private:
  // Of our own: Boost 1.81's any_completion_handler calls itself without end when it is posted.
  struct Waiter {
    virtual ~Waiter() = default;
    virtual void resume() = 0;
  };
  template <class Handler>
  struct Holder final : Waiter {
    explicit Holder(Handler&& what) : handler(std::move(what)) {}
    void resume() override { std::move(handler)(); }
    Handler handler;
  };

  boost::asio::io_context& io_;
  bool set_ = false;
  std::unique_ptr<Waiter> waiter_;
};

}  // namespace glovebox::node
