// How a run ended. A guest that crashed, ran too long or used up its memory is an Outcome and not
// an Error: the platform did its job.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

#include "model/limits.h"
#include "model/wall.h"

namespace glovebox {

// Why a sandbox ended, as the launcher saw it.
enum class EndReason : std::uint8_t {
  kExited = 1,  // the agent ended by itself
  kDestroyed,   // the client asked
  kWallTimeout,
  kCpuTimeout,
  kAgentKilled,  // by the OOM killer or from outside
};

// What the kernel counted. A figure this kernel cannot give is absent, never guessed.
struct Usage {
  std::chrono::microseconds cpu{0};
  std::optional<std::uint64_t> peak_memory_bytes;
  std::optional<std::uint32_t> processes_peak;
  std::uint32_t oom_kills = 0;
  bool operator==(const Usage&) const = default;
};

struct Outcome {
  int exit_code = 0;  // 128 + n when a signal ended the program; 124 when time ran out
  int signal = 0;     // the signal that ended the program, else 0
  std::string out;    // what was printed, as far as it was collected
  std::string err;
  std::uint64_t output_bytes = 0;  // all that was printed, also what was cut
  bool timed_out = false;
  bool cpu_exceeded = false;  // with timed_out: the limit was that of CPU time
  bool oom_killed = false;
  bool truncated = false;
  std::chrono::microseconds wall{0};   // from the program's start to its end
  std::chrono::microseconds setup{0};  // from the request to the program's start
  Usage usage;
  EngineKind engine = EngineKind::kJail;
  WallSet walls;
};

// Whether usage.cpu is a figure: without a cgroup it is known of a program that has exited only.
inline bool cpu_is_counted(const Outcome& outcome) {
  return outcome.usage.cpu.count() > 0 || !outcome.walls.has(Wall::kCpuTimePerProcess);
}

// Whether RLIMIT_CPU ended the program, which is all that bounds CPU time where no cgroup counts
// it: SIGXCPU first, and SIGKILL a second later for a program that handles that.
inline bool ended_by_cpu_rlimit(const Limits& limits, int signal, std::uint64_t cpu_us) {
  if (limits.cpu_time.count() == 0) return false;
  return signal == SIGXCPU ||
         (signal == SIGKILL && std::chrono::microseconds(cpu_us) >= limits.cpu_time);
}

inline constexpr int kExitTimeout = 124;
inline constexpr int kExitGloveboxFailed = 125;
inline constexpr int kExitKilled = 137;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;  // as a shell says of SIGINT

}  // namespace glovebox
