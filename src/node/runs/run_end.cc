#include "node/runs/run_end.h"

#include <csignal>

namespace glovebox::node {

Outcome with_end(Outcome outcome, const Limits& limits, const Sandbox::Ended& ended,
                 const std::optional<wire::ProgramExited>& exited, bool overdue) {
  outcome.usage = ended.usage;
  outcome.oom_killed = ended.usage.oom_kills > 0;
  if (exited) {
    outcome.signal = exited->signal;
    outcome.exit_code = exited->signal != 0 ? 128 + exited->signal : exited->code;
    if (outcome.usage.cpu.count() == 0) {
      outcome.usage.cpu = std::chrono::microseconds(exited->cpu_us);
    }
    if (!outcome.usage.peak_memory_bytes && exited->max_rss_bytes > 0) {
      outcome.usage.peak_memory_bytes = exited->max_rss_bytes;
    }
    // Without a cgroup that counts CPU time, RLIMIT_CPU of the process did.
    outcome.cpu_exceeded = ended_by_cpu_rlimit(limits, exited->signal, exited->cpu_us);
    outcome.timed_out = outcome.cpu_exceeded;
  } else {
    outcome.cpu_exceeded = ended.reason == EndReason::kCpuTimeout;
    outcome.timed_out = overdue || ended.reason == EndReason::kWallTimeout || outcome.cpu_exceeded;
    outcome.signal = SIGKILL;
    outcome.exit_code = kExitKilled;
  }
  if (outcome.timed_out) outcome.exit_code = kExitTimeout;
  return outcome;
}

}  // namespace glovebox::node
