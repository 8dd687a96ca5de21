// The agent proper: PID 1 of a sealed sandbox. Takes frames from the client, puts files in and
// out, starts the one program of a run, reaps whatever is orphaned, and ends with its client.
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "guest/agent/run/runtime.h"
#include "guest/agent/init/seccomp_filter.h"
#include "model/limits.h"

namespace glovebox::agent {

// What is different where there are no namespaces.
struct ProcessEngine {
  std::string home;      // stands for /home/user
  bool own_uid = false;  // nobody else in the world has it
  ExtraFilter filter = ExtraFilter::kProcess;
  UniqueFd children;  // open_list_of_children()
};

struct ServePlan {
  UniqueFd link;
  UniqueFd landlock;  // empty: this kernel has none
  Limits limits;
  bool memory_is_bounded = true;
  bool change_user = true;
  std::optional<ProcessEngine> process;
  std::optional<Runtime> runtime;  // waits for its job
};

// Returns the exit status, once the client has gone or broken the protocol.
int serve(ServePlan plan);

}  // namespace glovebox::agent
