#include "node/async/watched_fd.h"

#include <utility>

namespace glovebox::node {

using Descriptor = boost::asio::posix::stream_descriptor;

WatchedFd::WatchedFd(boost::asio::io_context& io, UniqueFd fd)
    : inner_(std::make_shared<Inner>(io, std::move(fd))) {}

WatchedFd& WatchedFd::operator=(WatchedFd&& other) noexcept {
  close();
  inner_ = std::move(other.inner_);
  return *this;
}

void WatchedFd::wakes(WakeSignal* signal) {
  if (inner_) inner_->signal = signal;
}

// The handlers hold what they touch: one may still be on its way when the descriptor is closed.
void WatchedFd::wait_readable() {
  if (!inner_) return;
  inner_->readable = false;
  if (std::exchange(inner_->read_armed, true)) return;
  inner_->descriptor.async_wait(Descriptor::wait_read,
                                [inner = inner_](const boost::system::error_code& error) {
                                  inner->read_armed = false;
                                  if (error) return;
                                  inner->readable = true;
                                  if (inner->signal != nullptr) inner->signal->set();
                                });
}

void WatchedFd::wait_writable() {
  if (!inner_) return;
  inner_->writable = false;
  if (std::exchange(inner_->write_armed, true)) return;
  inner_->descriptor.async_wait(Descriptor::wait_write,
                                [inner = inner_](const boost::system::error_code& error) {
                                  inner->write_armed = false;
                                  if (error) return;
                                  inner->writable = true;
                                  if (inner->signal != nullptr) inner->signal->set();
                                });
}

void WatchedFd::close() {
  if (!inner_) return;
  inner_->signal = nullptr;
  boost::system::error_code ignored;
  inner_->descriptor.close(ignored);
  inner_.reset();
}

UniqueFd WatchedFd::release() {
  if (!inner_) return UniqueFd();
  inner_->signal = nullptr;
  UniqueFd fd(inner_->descriptor.release());
  inner_.reset();
  return fd;
}

}  // namespace glovebox::node
