#include "wire/launcher/limits_codec.h"

namespace glovebox::wire {

void put_limits(ByteWriter& to, const Limits& limits) {
  to.number(static_cast<std::uint64_t>(limits.wall.count()));
  to.number(static_cast<std::uint64_t>(limits.cpu_time.count()));
  to.number(limits.memory_bytes);
  to.number(limits.disk_bytes);
  to.number(limits.disk_inodes);
  to.number(limits.pids);
  to.number(limits.cpu_thousandths);
  to.number(limits.asked_for);
}

Limits get_limits(ByteReader& from) {
  // A year of milliseconds and a petabyte: past these the number is not a limit but an attack on
  // the receiver's arithmetic.
  constexpr std::uint64_t kMaxMs = 366ull * 24 * 3'600'000;
  constexpr std::uint64_t kMaxBytes = 1ull << 50;
  Limits limits;
  const auto wall = from.number<std::uint64_t>();
  const auto cpu = from.number<std::uint64_t>();
  limits.memory_bytes = from.number<std::uint64_t>();
  limits.disk_bytes = from.number<std::uint64_t>();
  limits.disk_inodes = from.number<std::uint32_t>();
  limits.pids = from.number<std::uint32_t>();
  limits.cpu_thousandths = from.number<std::uint32_t>();
  limits.asked_for = from.number<std::uint8_t>();
  if (wall == 0 || wall > kMaxMs || cpu > kMaxMs || limits.memory_bytes > kMaxBytes ||
      limits.disk_bytes > kMaxBytes || limits.memory_bytes == 0 || limits.disk_bytes == 0 ||
      limits.pids == 0 || limits.cpu_thousandths == 0 || limits.disk_inodes == 0) {
    from.refuse();
  }
  limits.wall = std::chrono::milliseconds(wall & (~0ull >> 8));
  limits.cpu_time = std::chrono::milliseconds(cpu & (~0ull >> 8));
  return limits;
}

}  // namespace glovebox::wire
