#include "store/clock.h"

#include <time.h>

namespace glovebox::store {

namespace {

std::int64_t read_ms(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

// Boot time and not monotonic: it goes on while the machine sleeps.
JumpFreeClock::JumpFreeClock() : offset_ms_(read_ms(CLOCK_REALTIME) - read_ms(CLOCK_BOOTTIME)) {}

std::int64_t JumpFreeClock::now_ms() const { return offset_ms_ + read_ms(CLOCK_BOOTTIME); }

std::int64_t wall_clock_ms() { return read_ms(CLOCK_REALTIME); }

}  // namespace glovebox::store
