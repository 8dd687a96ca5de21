#include "runs/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace glovebox::runs {
namespace {

constexpr double kFirst = 20;  // us: the upper bound of the first bucket
constexpr double kGrowth = 1.1;

std::size_t bucket_of(std::chrono::microseconds time) {
  const auto us = static_cast<double>(time.count());
  if (us <= kFirst) return 0;
  const double step = std::ceil(std::log(us / kFirst) / std::log(kGrowth));
  return std::min(static_cast<std::size_t>(step), LatencyHistogram::kBuckets - 1);
}

}  // namespace

void LatencyHistogram::add(std::chrono::microseconds time) {
  ++buckets_[bucket_of(time)];
  ++count_;
}

void LatencyHistogram::add(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
}

std::optional<std::chrono::microseconds> LatencyHistogram::percentile(double part) const {
  if (count_ == 0) return std::nullopt;
  const auto rank = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
  std::uint64_t below = 0;
  std::size_t bucket = 0;
  for (; bucket + 1 < kBuckets; ++bucket) {
    below += buckets_[bucket];
    if (below >= std::max<std::uint64_t>(rank, 1)) break;
  }
  // The middle of the bucket, on the scale on which they are equally wide.
  const double middle = kFirst * std::pow(kGrowth, static_cast<double>(bucket) - 0.5);
  return std::chrono::microseconds(std::llround(middle));
}

}  // namespace glovebox::runs
