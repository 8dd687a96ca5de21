#include "node/pools/pool_size.h"

#include <algorithm>
#include <cmath>

namespace glovebox::node {
namespace {

constexpr double kRateSeconds = 1.0;  // the time over which takes are averaged

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

PoolSize::PoolSize(std::uint32_t least, std::uint32_t most, std::chrono::milliseconds idle_decay,
                   Clock::time_point now)
    : least_(least), most_(most), idle_decay_(idle_decay), last_take_(now), last_change_(now) {
  set(least_);
}

void PoolSize::set_bounds(std::uint32_t least, std::uint32_t most) {
  least_ = least;
  most_ = most;
  set(target_);
}

void PoolSize::on_take(Clock::time_point now) {
  const double gap = std::max(0.0, seconds(now - last_take_));
  takes_per_second_ = takes_per_second_ * std::exp(-gap / kRateSeconds) + 1.0 / kRateSeconds;
  last_take_ = now;
  if (const std::uint32_t wanted = demand(); wanted > target_) {
    set(wanted);
    last_change_ = now;
  }
}

void PoolSize::on_miss(Clock::time_point now, std::uint32_t at_once, std::uint32_t waiting) {
  // Sixteen clients need sixteen, however often they come; a burst of a hundred a hundred. Runs
  // that take long count as well, so it does not jump to their number for a single one that waits.
  const std::uint32_t bound = std::max(target_, waiting) * 2;
  set(std::max({1u, target_, std::min(at_once, bound)}));
  last_change_ = now;
}

void PoolSize::on_created(std::chrono::microseconds took) {
  const double now_took = std::chrono::duration<double>(took).count();
  seconds_to_create_ += (std::min(now_took, 1.0) - seconds_to_create_) * 0.2;
}

void PoolSize::tick(Clock::time_point now) {
  if (now - last_take_ >= idle_decay_) {
    takes_per_second_ = 0;
    set(least_);
    return;
  }
  if (now - last_change_ < idle_decay_) return;
  // It was large enough for a while: somewhat smaller may do.
  last_change_ = now;
  set(std::max(demand(), target_ - target_ / 4));
}

// What is taken while two of them are created, and one to spare.
std::uint32_t PoolSize::demand() const {
  return static_cast<std::uint32_t>(
             std::min(1e6, std::ceil(takes_per_second_ * seconds_to_create_ * 2))) +
         1;
}

void PoolSize::set(std::uint32_t target) {
  target_ = std::clamp(target, std::min(least_, most_), most_);
}

}  // namespace glovebox::node
