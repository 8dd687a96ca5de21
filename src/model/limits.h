// What a sandbox may use. Plain numbers. Where no cgroup enforces memory or CPU time, rlimits bound
// each process instead and the answer lists that weaker wall. For a CPU share there is no weaker
// one: an explicit share is refused, a default goes without and is listed as missing.
#pragma once

#include <chrono>
#include <cstdint>

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

}  // namespace glovebox
