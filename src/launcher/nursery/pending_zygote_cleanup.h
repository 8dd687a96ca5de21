// Zygotes and nurseries that were killed and have not exited yet, and their cgroups. A process with
// gigabytes of memory takes the kernel hundreds of milliseconds to tear down; the launcher does not
// wait for that, but tries again, at growing intervals, until nothing is left. Owned by JailMaker;
// outlives every Zygote and Nursery.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <list>
#include <memory>
#include <optional>

#include "base/unique_fd.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

class PendingZygoteCleanup {
 public:
  using Clock = std::chrono::steady_clock;

  PendingZygoteCleanup() = default;
  PendingZygoteCleanup(const PendingZygoteCleanup&) = delete;
  PendingZygoteCleanup& operator=(const PendingZygoteCleanup&) = delete;
  ~PendingZygoteCleanup() { clean_up_all(); }

  // A child process of the launcher that was killed: it has to be reaped.
  void add_child(pid_t pid, UniqueFd pidfd);
  // A process that was killed, and its cgroup, in which everything is killed now. `leases` are
  // released when the cgroup is gone.
  void add_group(UniqueFd pidfd, sys::Cgroup cgroup, std::shared_ptr<const void> leases);

  void clean_up(Clock::time_point now);
  // At the end of the launcher: waits for all of them, up to a deadline.
  void clean_up_all();
  std::optional<Clock::time_point> next_due() const;
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    pid_t child = 0;
    UniqueFd pidfd;
    sys::Cgroup cgroup;
    std::shared_ptr<const void> leases;
    Clock::time_point due{};
    std::chrono::milliseconds interval{5};
  };
  static bool is_finished(Entry& entry, int wait_ms);
  std::list<Entry> entries_;
};

}  // namespace glovebox::launcher
