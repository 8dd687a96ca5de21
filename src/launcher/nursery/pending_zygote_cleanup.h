// What is left of zygotes and nurseries that were ended: processes that take their time to die, and
// cgroups that are not empty yet. A module may have a process with gigabytes in there, which the
// kernel takes apart for hundreds of milliseconds: nobody waits for that. Looked at again, ever
// more slowly, until nothing is left.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <list>
#include <memory>
#include <optional>

#include "base/unique_fd.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

class Remains {
 public:
  using Clock = std::chrono::steady_clock;

  Remains() = default;
  Remains(const Remains&) = delete;
  Remains& operator=(const Remains&) = delete;
  ~Remains() { clean_up_all(); }

  // A child of ours that was killed.
  void add_child(pid_t pid, UniqueFd pidfd);
  // A process that was killed, and all in its cgroup, who are to follow it. `held` is let go when
  // nobody is left.
  void add_group(UniqueFd pidfd, sys::Cgroup cgroup, std::shared_ptr<const void> held);

  void clean_up(Clock::time_point now);
  // At the end: all, and now. Waits, but not for ever.
  void clean_up_all();
  std::optional<Clock::time_point> next_due() const;
  bool empty() const { return all_.empty(); }

 private:
  struct One {
    pid_t child = 0;
    UniqueFd pidfd;
    sys::Cgroup cgroup;
    std::shared_ptr<const void> held;
    Clock::time_point due{};
    std::chrono::milliseconds pause{5};
  };
  static bool is_over(One& one, int wait_ms);
  std::list<One> all_;
};

}  // namespace glovebox::launcher
