// Progress of a long copy: one line on the terminal that is overwritten.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "client/output/print.h"

namespace glovebox::client {

class CopyProgress {
 public:
  using Clock = std::chrono::steady_clock;

  explicit CopyProgress(bool quiet) : shown_(!quiet && ::isatty(STDERR_FILENO) != 0) {}
  ~CopyProgress() { clear(); }

  void begin(std::string name, std::optional<std::uint64_t> size) {
    name_ = std::move(name);
    size_ = size;
    done_ = 0;
  }
  void add(std::uint64_t bytes) {
    done_ += bytes;
    all_ += bytes;
    if (!shown_ || Clock::now() < next_) return;
    next_ = Clock::now() + std::chrono::milliseconds(200);
    const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    const double rate = seconds > 0 ? static_cast<double>(all_) / seconds / 1e6 : 0;
    std::string part;
    if (size_ && *size_ > 0) {
      part = std::to_string(std::min<std::uint64_t>(100, done_ * 100 / *size_)) + "% of ";
    }
    std::fprintf(stderr, "\r\033[K%s%s  %.1f MB  %.1f MB/s", part.c_str(),
                 printable(name_).substr(0, 60).c_str(), static_cast<double>(all_) / 1e6, rate);
    std::fflush(stderr);
    written_ = true;
  }
  void clear() {
    if (written_) std::fprintf(stderr, "\r\033[K");
    written_ = false;
  }
  std::uint64_t bytes() const { return all_; }

 private:
  bool shown_;
  bool written_ = false;
  std::string name_;
  std::optional<std::uint64_t> size_;
  std::uint64_t done_ = 0;
  std::uint64_t all_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(500);
};

}  // namespace glovebox::client
