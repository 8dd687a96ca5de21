// How long to wait before a program that died is started again: 100 ms, doubled each time up to
// 5 s, and 100 ms again once it has lived for 10 s.
#pragma once

#include <algorithm>
#include <chrono>

namespace glovebox::supervisor {

using Clock = std::chrono::steady_clock;  // a jump of the wall clock changes nothing here

class Backoff {
 public:
  static constexpr std::chrono::milliseconds kMin{100};
  static constexpr std::chrono::milliseconds kMax{5000};
  static constexpr std::chrono::milliseconds kHealthy{10000};

  void started(Clock::time_point now) { started_ = now; }
  // Returns the wait that begins now.
  std::chrono::milliseconds ended(Clock::time_point now) {
    if (now - started_ >= kHealthy) next_wait_ = kMin;
    const auto wait = next_wait_;
    due_ = now + wait;
    next_wait_ = std::min(next_wait_ * 2, kMax);
    return wait;
  }
  Clock::time_point due() const { return due_; }

 private:
  Clock::time_point started_{};
  Clock::time_point due_{};
  std::chrono::milliseconds next_wait_ = kMin;
};

}  // namespace glovebox::supervisor
