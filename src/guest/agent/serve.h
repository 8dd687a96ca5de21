// The agent proper: PID 1 of a sealed sandbox. Takes frames from the client, puts files in and
// out, starts the one program of a run, reaps whatever is orphaned, and ends with its client.
#pragma once

#include "base/unique_fd.h"
#include "model/limits.h"

namespace glovebox::agent {

struct ServePlan {
  UniqueFd link;
  UniqueFd landlock;  // empty: this kernel has none
  Limits limits;
  bool memory_is_bounded = true;
  bool change_user = true;
};

// Returns the exit status, once the client has gone or broken the protocol.
int serve(ServePlan plan);

}  // namespace glovebox::agent
