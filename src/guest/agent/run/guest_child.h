// Starts a guest's program, in the forked child, between fork and exec.
#pragma once

#include <sys/resource.h>

#include <cstddef>

#include "guest/agent/init/seccomp_filter.h"
#include "guest/agent/session/session_child.h"

namespace glovebox::agent {

struct RlimitEntry {
  int resource;
  rlim_t soft;
  rlim_t hard;
};

// Laid out by the agent before the fork; the child only reads it.
struct GuestPlan {
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  const char* workdir = nullptr;
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  // A runtime's results, job and socket, to be 3, 4 and 5; all of them are above that.
  int more_fds[3] = {-1, -1, -1};
  unsigned more_count = 0;
  bool terminal = false;    // stdin_fd is a pty slave: make it the controlling terminal
  bool change_user = true;  // rootless: the only mapped user is the guest's already
  bool reset_oom_score = true;
  ExtraFilter extra_filter = ExtraFilter::kNone;
  const RlimitEntry* rlimits = nullptr;
  std::size_t rlimit_count = 0;
  // In a session: the user to become, who may become root inside again; see session_child.h. In a
  // run: the user to become if it is not the sandbox's own, without any capability.
  bool session = false;
  bool has_identity = false;
  SessionIdentity identity;
  SetuidFiles setuid_files = SetuidFiles::kRefused;
  int landlock_fd = -1;  // -1: this kernel does not have it, or it is a session
  int failure_fd = -1;   // CLOEXEC: end of file means the exec worked
};

struct GuestFailure {
  unsigned step = 0;
  int error = 0;
};

const char* guest_step_name(bool session, unsigned step) noexcept;

[[noreturn]] void run_guest_child(const GuestPlan& plan) noexcept;

}  // namespace glovebox::agent
