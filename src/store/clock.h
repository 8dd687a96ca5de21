// A calendar that does not jump: the wall clock as it was at the start, plus the time since. Ages
// and expiry are measured with it, so that a wrong date cannot expire a week's records at once.
#pragma once

#include <cstdint>

namespace glovebox::store {

class JumpFreeClock {
 public:
  JumpFreeClock();
  std::int64_t now_ms() const;  // since 1970

 private:
  std::int64_t offset_ms_;
};

// The wall clock, milliseconds since 1970, UTC.
std::int64_t wall_clock_ms();

}  // namespace glovebox::store
