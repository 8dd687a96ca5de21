// What a sandbox may use. Plain numbers; who asked for them decides what happens when the host
// cannot enforce one: an explicit limit is refused, a default falls back and is listed as missing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace glovebox {

enum class LimitKind : std::uint8_t { kWall, kCpuTime, kMemory, kDisk, kPids, kCpus };

struct Limits {
  std::chrono::milliseconds wall{30'000};
  std::chrono::milliseconds cpu_time{0};  // zero: no limit beyond the wall clock
  std::uint64_t memory_bytes = 512ull << 20;
  std::uint64_t disk_bytes = 256ull << 20;
  std::uint32_t disk_inodes = 65'536;
  std::uint32_t pids = 128;
  std::uint32_t cpu_thousandths = 1000;  // of one CPU
  std::uint8_t asked_for = 0;            // a bit per LimitKind

  bool was_asked_for(LimitKind kind) const {
    return (asked_for & (1u << static_cast<unsigned>(kind))) != 0;
  }
  void mark_asked_for(LimitKind kind) {
    asked_for = static_cast<std::uint8_t>(asked_for | (1u << static_cast<unsigned>(kind)));
  }
  bool operator==(const Limits&) const = default;
};

// Other defaults than a template's. Unlike a limit that was asked for, a default may be lowered to
// the administrator's ceiling, and falls back where the host cannot enforce it.
struct LimitDefaults {
  std::optional<std::uint64_t> memory_bytes{};
  std::optional<std::uint32_t> cpu_thousandths{};
  bool operator==(const LimitDefaults&) const = default;
};

inline Limits with_defaults(Limits limits, const LimitDefaults& defaults) {
  limits.memory_bytes = defaults.memory_bytes.value_or(limits.memory_bytes);
  limits.cpu_thousandths = defaults.cpu_thousandths.value_or(limits.cpu_thousandths);
  return limits;
}

// Those of a session: as many files as a disk of this size would have, since packages and checkouts
// have many small files.
inline Limits session_limits(Limits limits) {
  const std::uint64_t inodes = std::min<std::uint64_t>(limits.disk_bytes / 4096, 1u << 20);
  limits.disk_inodes = std::max(limits.disk_inodes, static_cast<std::uint32_t>(inodes));
  return limits;
}

// What of the limits is fixed when a session is made; no clock of the launcher ends one.
inline std::string session_limits_text(const Limits& limits) {
  std::string text;
  for (const std::uint64_t number :
       {limits.memory_bytes, limits.disk_bytes, std::uint64_t{limits.disk_inodes},
        std::uint64_t{limits.pids}, std::uint64_t{limits.cpu_thousandths},
        std::uint64_t{limits.asked_for}}) {
    text += std::to_string(number) + " ";
  }
  return text;
}

}  // namespace glovebox
