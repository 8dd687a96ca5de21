// What a session's agent is started with: its sockets, its limits, and properties of the sandbox.
#pragma once

#include "base/unique_fd.h"
#include "guest/agent/init/seccomp_filter.h"
#include "model/limits.h"
#include "model/sandbox_shares.h"

namespace glovebox::agent {

struct SessionPlan {
  UniqueFd link;      // to the server, whichever it is
  UniqueFd launcher;  // asked for warm contexts; its end is the session's end
  UniqueFd upper;     // root of the sandbox's writable filesystem
  Limits limits;
  SandboxShares shares;
  bool memory_is_bounded = true;
  bool change_user = true;
  SetuidFiles setuid_files = SetuidFiles::kRefused;
};

}  // namespace glovebox::agent
