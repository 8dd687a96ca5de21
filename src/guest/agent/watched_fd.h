// A descriptor in an epoll set, with the events to wait for. epoll always reports hang-ups, so a
// descriptor that is not wanted now is removed from the set.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <utility>

#include "base/unique_fd.h"

namespace glovebox::agent {

class WatchedFd {
 public:
  WatchedFd() = default;
  WatchedFd(int epoll, std::uint64_t key, UniqueFd fd)
      : epoll_(epoll), key_(key), fd_(std::move(fd)) {}
  WatchedFd(WatchedFd&& other) noexcept
      : epoll_(other.epoll_),
        key_(other.key_),
        events_(std::exchange(other.events_, kNothing)),
        fd_(std::move(other.fd_)) {}
  WatchedFd& operator=(WatchedFd&& other) noexcept {
    close();
    epoll_ = other.epoll_;
    key_ = other.key_;
    events_ = std::exchange(other.events_, kNothing);
    fd_ = std::move(other.fd_);
    return *this;
  }
  ~WatchedFd() { close(); }

  int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }

  // Zero: only errors and hang-ups. False: epoll_ctl failed.
  bool want(std::uint32_t events) {
    if (!fd_ || events_ == events) return static_cast<bool>(fd_);
    epoll_event event{};
    event.events = events;
    event.data.u64 = key_;
    const int how = events_ == kNothing ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (::epoll_ctl(epoll_, how, fd_.get(), &event) != 0) return false;
    events_ = events;
    return true;
  }
  void ignore() {
    if (!fd_ || events_ == kNothing) return;
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd_.get(), nullptr);
    events_ = kNothing;
  }
  // Removed from the set first: a forked child that has not executed yet has a copy, which would
  // keep it in the set.
  void close() {
    ignore();
    fd_.reset();
  }
  UniqueFd take() {
    ignore();
    return std::move(fd_);
  }

 private:
  static constexpr std::uint32_t kNothing = ~0u;  // not in the epoll
  int epoll_ = -1;
  std::uint64_t key_ = 0;
  std::uint32_t events_ = kNothing;
  UniqueFd fd_;
};

}  // namespace glovebox::agent
