#include "bench/profile/kernel_threads.h"

#include <algorithm>

#include "bench/process_tree.h"
#include "bench/profile/process_clock.h"

namespace glovebox::bench {
namespace {

using std::chrono::nanoseconds;

// The parent of all kernel threads, where the host's pid namespace is visible.
constexpr pid_t kKthreadd = 2;

}  // namespace

std::string kernel_thread_group(const std::string& name) {
  if (name.starts_with("rcu")) return "rcu";
  return name.substr(0, name.find_first_of("/-\n"));
}

Result<KernelThreads> kernel_threads() {
  if (proc_text("/proc/" + std::to_string(kKthreadd) + "/comm") != "kthreadd\n") {
    return fail(Errc::kUnavailable, "this pid namespace does not show the host's processes");
  }
  KernelThreads threads;
  for (const pid_t pid : process_tree(kKthreadd)) {
    const auto time = process_cpu_time(pid);
    const std::string name = proc_text("/proc/" + std::to_string(pid) + "/comm");
    if (time && !name.empty()) threads[pid] = {kernel_thread_group(name), *time};
  }
  return threads;
}

GroupTimes added_times(const KernelThreads& begin, const KernelThreads& end) {
  GroupTimes added;
  for (const auto& [pid, thread] : end) {
    const auto before = begin.find(pid);
    // A smaller time is that of another thread, which got the number of one that has ended.
    const bool is_same = before != begin.end() && before->second.time <= thread.time;
    added[thread.group] += is_same ? thread.time - before->second.time : thread.time;
  }
  return added;
}

GroupTimes without_idle(GroupTimes times, const GroupTimes& idle, double share) {
  for (auto& [group, time] : times) {
    const auto found = idle.find(group);
    if (found == idle.end()) continue;
    const nanoseconds usual(
        static_cast<nanoseconds::rep>(static_cast<double>(found->second.count()) * share));
    time = std::max(nanoseconds(0), time - usual);
  }
  return times;
}

nanoseconds sum_of(const GroupTimes& times) {
  nanoseconds sum{0};
  for (const auto& [group, time] : times) sum += time;
  return sum;
}

}  // namespace glovebox::bench
