// Starts the agent of a process-engine sandbox, in the forked child, between fork and exec.
#pragma once

#include <sys/types.h>

namespace glovebox::launcher {

struct ProcessPlan {
  int go_fd = -1;  // readable once the cgroups are joined
  int agent_fd = -1;
  int setup_fd = -1;
  int link_fd = -1;
  int failure_fd = -1;  // CLOEXEC: end of file means the exec worked
  bool change_user = false;
  uid_t uid = 0;
};

struct ProcessFailure {
  unsigned step = 0;
  int error = 0;
};

const char* process_step_name(unsigned step) noexcept;

[[noreturn]] void run_process_child(const ProcessPlan& plan) noexcept;

}  // namespace glovebox::launcher
