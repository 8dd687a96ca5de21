// Owns one file descriptor; -1 means empty.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace glovebox {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    const int old = std::exchange(fd_, fd);
    if (old < 0) return;
    // Not retried on EINTR: Linux has already freed the number, and a second
    // close() could hit a descriptor another thread was just given.
    const int saved_errno = errno;
    ::close(old);
    errno = saved_errno;
  }

 private:
  int fd_ = -1;
};

}  // namespace glovebox
