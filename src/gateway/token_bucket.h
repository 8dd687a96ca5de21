// A token bucket: so many per second, with a burst. The caller passes the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace glovebox::gateway {

class TokenBucket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Full at first. Both at least 1.
  TokenBucket(std::uint32_t per_second, std::uint32_t burst)
      : step_(std::chrono::nanoseconds(std::chrono::seconds(1)) / std::max(per_second, 1u)),
        burst_(step_ * std::max(burst, 1u)) {}

  bool take(Time now) {
    if (!started_ || now >= empty_at_ + burst_) empty_at_ = now - burst_;
    started_ = true;
    if (now - empty_at_ < step_) return false;
    empty_at_ += step_;
    return true;
  }

  // How long until take() could succeed; zero if it would now.
  std::chrono::nanoseconds wait(Time now) const {
    if (!started_ || now - empty_at_ >= step_) return std::chrono::nanoseconds(0);
    return empty_at_ + step_ - now;
  }

 private:
  // Tokens are stored as time: what lies between empty_at_ and now, at most a burst.
  std::chrono::nanoseconds step_;
  std::chrono::nanoseconds burst_;
  Time empty_at_{};
  bool started_ = false;
};

}  // namespace glovebox::gateway
