// A descriptor and whether something can be done with it. Becoming ready wakes a WakeSignal;
// the woken coroutine reads or writes until EAGAIN, and asks to be woken again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>

#include "base/unique_fd.h"
#include "node/async/wake_signal.h"

namespace glovebox::node {

class WatchedFd {
 public:
  WatchedFd() = default;
  // The descriptor must be one that epoll takes; a socket or a pipe.
  WatchedFd(boost::asio::io_context& io, UniqueFd fd);
  WatchedFd(WatchedFd&&) = default;
  WatchedFd& operator=(WatchedFd&& other) noexcept;
  ~WatchedFd() { close(); }

  explicit operator bool() const { return inner_ != nullptr; }
  int fd() const { return inner_ ? inner_->descriptor.native_handle() : -1; }
  // Who is woken; it outlives this, or says nullptr first.
  void wakes(WakeSignal* signal);

  bool readable() const { return inner_ && inner_->readable; }
  bool writable() const { return inner_ && inner_->writable; }
  void assume_readable() {
    if (inner_) inner_->readable = true;
  }
  // It would have blocked: wake me when it does not.
  void wait_readable();
  void wait_writable();
  void close();
  // The descriptor, not watched any more.
  UniqueFd release();

 private:
  struct Inner {
    Inner(boost::asio::io_context& io, UniqueFd fd) : descriptor(io, fd.release()) {}
    boost::asio::posix::stream_descriptor descriptor;
    WakeSignal* signal = nullptr;
    bool readable = true;  // try first
    bool writable = true;
    bool read_armed = false;
    bool write_armed = false;
  };
  std::shared_ptr<Inner> inner_;
};

}  // namespace glovebox::node
