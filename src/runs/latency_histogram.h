// A histogram of times whose buckets grow by a tenth each: percentiles to within 5 percent, in 1
// KB.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace glovebox::runs {

class LatencyHistogram {
 public:
  static constexpr std::size_t kBuckets = 160;  // from 20 us to about a minute

  void add(std::chrono::microseconds time);
  void add(const LatencyHistogram& other);
  // The time that this part (0 to 1) of all were at most; nothing: there are none.
  std::optional<std::chrono::microseconds> percentile(double part) const;
  std::uint64_t count() const { return count_; }

 private:
  std::array<std::uint32_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace glovebox::runs
