// How many idle sandboxes a pool should keep. Grows with demand, and to what was wanted at once
// when a run found it empty, but at most doubles; returns to the minimum without demand. Pure
// arithmetic on the times it is given.
#pragma once

#include <chrono>
#include <cstdint>

#include "node/node_options.h"

namespace glovebox::node {

class PoolSize {
 public:
  PoolSize(std::uint32_t least, std::uint32_t most, std::chrono::milliseconds idle_decay,
           Clock::time_point now);

  void set_bounds(std::uint32_t least, std::uint32_t most);
  void on_take(Clock::time_point now);
  // A run found the pool empty: `at_once` runs are under way or wait, `waiting` of them for this
  // pool, this one included.
  void on_miss(Clock::time_point now, std::uint32_t at_once, std::uint32_t waiting);
  // This host is short of memory.
  void shrink() { set(least_); }
  void on_created(std::chrono::microseconds took);
  void tick(Clock::time_point now);

  std::uint32_t target() const { return target_; }
  std::uint32_t least() const { return least_; }
  Clock::time_point last_take() const { return last_take_; }

 private:
  std::uint32_t demand() const;
  void set(std::uint32_t target);

  std::uint32_t least_;
  std::uint32_t most_;
  Clock::duration idle_decay_;
  std::uint32_t target_ = 0;
  Clock::time_point last_take_;
  Clock::time_point last_change_;  // grown, or looked at for shrinking
  double takes_per_second_ = 0;
  double seconds_to_create_ = 0.003;
};

}  // namespace glovebox::node
