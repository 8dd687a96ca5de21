// Starts a nursery's broker, in the cloned child, between clone and exec.
#pragma once

namespace glovebox::launcher {

struct NurseryPlan {
  const char* role = nullptr;  // the agent's argument
  int go_fd = -1;              // readable once the user namespace is mapped
  int agent_fd = -1;           // our program
  int socket_fd = -1;          // to the launcher
  int failure_fd = -1;         // CLOEXEC: end of file means the exec worked
  // Not rootless: the sandboxes there that have the user's own uid keep the user's groups, because
  // a directory that is mounted for them may be one of a group's.
  bool drops_groups = false;
};

struct NurseryFailure {
  unsigned step = 0;
  int error = 0;
};

const char* nursery_step_name(unsigned step) noexcept;

[[noreturn]] void run_nursery_child(const NurseryPlan& plan) noexcept;

}  // namespace glovebox::launcher
