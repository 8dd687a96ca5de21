#include "launcher/sandbox/sandbox.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/fd_message.h"
#include "base/log.h"
#include "launcher/jail/root_builder.h"
#include "launcher/policy/request_checks.h"
#include "sys/clone.h"
#include "sys/mount.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

using std::chrono::milliseconds;

// What an interpreter may use while it waits for its next call: it reads from a pipe. Anything more
// is work that no call's limits bound.
constexpr milliseconds kCpuBetweenCalls{50};
constexpr milliseconds kLookBetweenCalls{500};

}  // namespace

Sandbox::Sandbox(SandboxId id, Limits limits, WallSet walls, sys::Cgroup cgroup, UniqueFd init,
                 std::optional<std::uint32_t> slice, std::optional<ProcessStart> process)
    : id_(std::move(id)),
      limits_(limits),
      walls_(walls),
      slice_(slice),
      process_(std::move(process)),
      started_(Clock::now()),
      cgroup_(std::move(cgroup)),
      init_(std::move(init)) {
  check_at_ = soonest_end(started_, {});
}

sys::CgroupLimits cgroup_limits(const Limits& limits) {
  return {.memory_bytes = limits.memory_bytes + limits.disk_bytes,
          // Not of the disk: it has to give ENOSPC before anything is killed.
          .socket_bytes = sys::split_memory(limits.memory_bytes).socket_bytes,
          .pids = limits.pids,
          .cpu_thousandths = limits.cpu_thousandths};
}

Result<> Sandbox::take(const Limits& limits, bool network_up, std::uint32_t cpu_weight) {
  if (between_calls_) {
    TRY_OK(check_limits_of_a_call(limits));
    TRY_OK(set_cgroup_limits(limits, cpu_weight));
    between_calls_ = false;
    begin_call(limits);
    return {};
  }
  if (!waiting_ || !waiting_->link)
    return fail(Errc::kNotFound, "the sandbox does not wait to be taken");
  if (network_up && !network_)
    return fail(Errc::kUnsupported, "the sandbox was made without a network");
  TRY_OK(check_enforceable(limits, cgroup_.features()));
  const bool other_disk =
      limits.disk_bytes != limits_.disk_bytes || limits.disk_inodes != limits_.disk_inodes;
  if (reuse_ && other_disk)
    return fail(Errc::kConflict, "the disk limit of a reusable sandbox cannot change");
  TRY_OK(set_cgroup_limits(limits, cpu_weight));
  if (other_disk) {
    TRY_OK(sys::reconfigure(waiting_->upper.get(), size_options(limits)));
  }
  begin_call(limits);
  const int fds[] = {waiting_->link.get()};
  TRY_OK(send_message(waiting_->setup.get(),
                      wire::encode(wire::PlanMessage(wire::SandboxTaken{limits, network_up})),
                      fds));
  if (network_up) network_->is_up = true;
  if (reuse_) reuse_->setup = std::move(waiting_->setup);
  waiting_.reset();
  return {};
}

Result<> Sandbox::set_cgroup_limits(const Limits& limits, std::uint32_t cpu_weight) {
  sys::CgroupLimits wanted = cgroup_limits(limits);
  wanted.cpu_weight = cpu_weight;
  sys::CgroupLimits set = cgroup_limits(limits_);
  set.cpu_weight = cpu_weight_;  // an earlier call's
  if (wanted == set) return {};
  cpu_weight_ = cpu_weight;
  const sys::CgroupFeatures before = cgroup_.features();
  cgroup_.set_limits(wanted);
  const sys::CgroupFeatures& now = cgroup_.features();
  if (before.memory != now.memory || before.pids != now.pids || before.cpu != now.cpu) {
    return fail(Errc::kInternal, "the kernel refused the new cgroup limits");
  }
  return {};
}

// Its process has the others as rlimits already.
Result<> Sandbox::check_limits_of_a_call(const Limits& limits) const {
  Limits same = limits_;
  same.wall = limits.wall;
  same.cpu_time = limits.cpu_time;
  if (limits == same) return {};
  return fail(Errc::kConflict, "the limits of an interpreter that stays cannot change");
}

// The CPU time of making it and of waiting is not charged to the client.
void Sandbox::begin_call(const Limits& limits) {
  limits_ = limits;
  cpu_before_take_ = std::chrono::microseconds(cgroup_.cpu_us());
  if (was_recycled_) peak_is_of_this_call_ = cgroup_.reset_peak_memory();
  started_ = Clock::now();
  check_at_ = soonest_end(started_, {});
}

void Sandbox::begin_waiting_for_a_call() {
  between_calls_ = true;
  was_recycled_ = true;
  cpu_before_take_ = std::chrono::microseconds(cgroup_.cpu_us());
  check_at_ = Clock::now() + kLookBetweenCalls;
}

void Sandbox::check_between_calls(Clock::time_point now) {
  if (cpu_used() > kCpuBetweenCalls) return kill(EndReason::kDestroyed);
  check_at_ = now + kLookBetweenCalls;
}

Result<> Sandbox::begin_recycling(UniqueFd link, std::span<const UniqueFd> scratch) {
  std::vector<int> fds;
  for (const UniqueFd& one : scratch) fds.push_back(one.get());
  const wire::PlanMessage recycle = wire::CleanSandbox{};
  TRY_OK(send_message(reuse_->setup.get(), wire::encode(recycle), fds));
  waiting_.emplace(Waiting{std::move(reuse_->setup), std::move(link), UniqueFd()});
  was_recycled_ = true;
  return {};
}

Result<std::vector<int>> Sandbox::network_descriptors() {
  if (!network_) return fail(Errc::kUnsupported, "the sandbox was made without a network");
  if (!network_->is_up) {
    if (!session_) return fail(Errc::kConflict, "the sandbox's network is not up");
    TRY_OK(
        send_message(session_->setup.get(), wire::encode(wire::PlanMessage(wire::RaiseNetwork{}))));
    network_->is_up = true;
  }
  return std::vector<int>{network_->connections.get(), network_->dns.get(), init_.get()};
}

std::chrono::microseconds Sandbox::cpu_used() const {
  const std::chrono::microseconds all(cgroup_.cpu_us());
  return all > cpu_before_take_ ? all - cpu_before_take_ : std::chrono::microseconds(0);
}

Clock::time_point Sandbox::next_check() const {
  if (end_reason_ || session_) return Clock::time_point::max();
  if (joining) return joining->deadline;
  return waiting_ ? Clock::time_point::max() : check_at_;
}

Clock::time_point Sandbox::soonest_end(Clock::time_point now,
                                       std::chrono::microseconds used) const {
  const Clock::time_point by_wall = started_ + limits_.wall;
  if (limits_.cpu_time.count() == 0) return by_wall;
  // The limit cannot be reached sooner than if every CPU it may use ran from now on.
  const auto left =
      std::max(std::chrono::microseconds(limits_.cpu_time) - used, std::chrono::microseconds(0));
  const auto soonest = left * 1000 / std::max<std::uint32_t>(limits_.cpu_thousandths, 1);
  const std::chrono::microseconds at_least = std::chrono::milliseconds(2);
  return std::min(by_wall, now + std::max<std::chrono::microseconds>(soonest, at_least));
}

void Sandbox::check(Clock::time_point now) {
  if (end_reason_ || joining || waiting_ || session_ || now < check_at_) return;
  if (between_calls_) return check_between_calls(now);
  if (now >= started_ + limits_.wall) return kill(EndReason::kWallTimeout);
  const auto used = limits_.cpu_time.count() > 0 ? cpu_used() : std::chrono::microseconds(0);
  if (limits_.cpu_time.count() > 0 && used >= limits_.cpu_time) {
    return kill(EndReason::kCpuTimeout);
  }
  check_at_ = soonest_end(now, used);
}

void Sandbox::kill(EndReason reason) {
  if (end_reason_) return;
  end_reason_ = reason;
  // All processes of a pid namespace die with its first one. The cgroup is killed as well, in case
  // a process is frozen or not in that namespace.
  sys::send_signal(init_.get(), SIGKILL);
  cgroup_.kill();
}

void Sandbox::kill_for_memory() {
  killed_for_memory_ = !is_ending();
  kill(EndReason::kAgentKilled);
}

Usage Sandbox::usage() const {
  const sys::CgroupUsage counted = cgroup_.usage();
  Usage usage;
  usage.cpu = std::max(std::chrono::microseconds(counted.cpu_us) - cpu_before_take_,
                       std::chrono::microseconds(0));
  if (peak_is_of_this_call_) usage.peak_memory_bytes = counted.peak_memory_bytes;
  // The kernel cannot reset it, and it may be an earlier call's.
  if (!was_recycled_) usage.processes_peak = counted.processes_peak;
  usage.oom_kills = counted.oom_kills + (killed_for_memory_ ? 1 : 0);
  return usage;
}

Usage Sandbox::finish(Report report) {
  if (process_) {
    ::waitid(P_PIDFD, static_cast<id_t>(init_.get()), nullptr, WEXITED);  // it is our own child
    cgroup_.kill();
    clean_up_process(*process_);
  }
  const Usage used = report == Report::kUsage ? usage() : Usage{};
  waiting_.reset();
  session_.reset();
  reuse_.reset();
  network_.reset();
  layers_.clear();  // its mounts went with its last process
  empty_ = cgroup_.remove_but_for_memory().has_value();
  if (!empty_)
    log::warn("the cgroup of a sandbox that has ended is not empty", {{"sandbox", id_.str()}});
  return used;
}

bool Sandbox::clean_up() {
  if (!empty_) empty_ = cgroup_.remove_but_for_memory().has_value();
  if (empty_) (void)cgroup_.remove();
  return is_clean();
}

}  // namespace glovebox::launcher
