#include "launcher/sandbox.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/log.h"
#include "sys/clone.h"

namespace glovebox::launcher {

Sandbox::Sandbox(SandboxId id, Limits limits, WallSet walls, sys::Cgroup cgroup, UniqueFd init,
                 std::optional<std::uint32_t> slice, std::optional<ProcessStart> process)
    : id_(std::move(id)),
      limits_(limits),
      walls_(walls),
      slice_(slice),
      process_(std::move(process)),
      started_(Clock::now()),
      cgroup_(std::move(cgroup)),
      init_(std::move(init)) {}

Clock::time_point Sandbox::next_check(Clock::time_point now) const {
  if (end_reason_) return Clock::time_point::max();
  Clock::time_point next = started_ + limits_.wall;
  if (limits_.cpu_time.count() > 0) {
    // The limit cannot be reached sooner than if every CPU it may use ran from now on.
    const auto used = std::chrono::microseconds(cgroup_.cpu_us());
    const auto left =
        std::max(std::chrono::microseconds(limits_.cpu_time) - used, std::chrono::microseconds(0));
    const auto soonest = left * 1000 / std::max<std::uint32_t>(limits_.cpu_thousandths, 1);
    next = std::min(
        next, now + std::max<std::chrono::microseconds>(soonest, std::chrono::milliseconds(2)));
  }
  return next;
}

void Sandbox::check(Clock::time_point now) {
  if (end_reason_) return;
  if (now >= started_ + limits_.wall) {
    kill(EndReason::kWallTimeout);
  } else if (limits_.cpu_time.count() > 0 &&
             std::chrono::microseconds(cgroup_.cpu_us()) >= limits_.cpu_time) {
    kill(EndReason::kCpuTimeout);
  }
}

void Sandbox::kill(EndReason reason) {
  if (end_reason_) return;
  end_reason_ = reason;
  // The first process of a pid namespace takes all the others with it; the cgroup as well, in case
  // something was frozen or is not in that namespace.
  sys::send_signal(init_.get(), SIGKILL);
  cgroup_.kill();
}

Usage Sandbox::usage() const {
  const sys::CgroupUsage counted = cgroup_.usage();
  Usage usage;
  usage.cpu = std::chrono::microseconds(counted.cpu_us);
  usage.peak_memory_bytes = counted.peak_memory_bytes;
  usage.processes_peak = counted.processes_peak;
  usage.oom_kills = counted.oom_kills;
  return usage;
}

Usage Sandbox::finish() {
  if (process_) {
    ::waitid(P_PIDFD, static_cast<id_t>(init_.get()), nullptr, WEXITED);  // it is our own child
    cgroup_.kill();
    clean_up_process(*process_);
  }
  const Usage used = usage();
  if (auto removed = cgroup_.remove(); !removed) {
    log::warn("cgroup not removed", {{"sandbox", id_.str()}, {"error", removed.error().message()}});
  }
  return used;
}

}  // namespace glovebox::launcher
