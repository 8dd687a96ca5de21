// CPU time of the kernel's own threads, which do part of the work of a run later: they remove
// network namespaces and cgroups, and free memory.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>

#include "base/result.h"

namespace glovebox::bench {

// Threads with similar names are a group: "kworker/0:1" and "kworker/u4:2" are "kworker".
std::string kernel_thread_group(const std::string& name);

struct KernelThread {
  std::string group;
  std::chrono::nanoseconds time{};
};
using KernelThreads = std::map<pid_t, KernelThread>;
using GroupTimes = std::map<std::string, std::chrono::nanoseconds>;

// kUnavailable: they cannot be seen from this pid namespace.
Result<KernelThreads> kernel_threads();

// What was added from `begin` to `end`. Threads that ended meanwhile are not in it.
GroupTimes added_times(const KernelThreads& begin, const KernelThreads& end);

// `times` without `share` of `idle`: what they would have used without a load. At least 0 each.
GroupTimes without_idle(GroupTimes times, const GroupTimes& idle, double share);

std::chrono::nanoseconds sum_of(const GroupTimes& times);

}  // namespace glovebox::bench
