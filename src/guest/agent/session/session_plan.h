// What a session's agent is given: its sockets, its limits, and what of the sandbox it must know.
#pragma once

#include "base/unique_fd.h"
#include "guest/agent/init/seccomp_filter.h"
#include "model/limits.h"

namespace glovebox::agent {

struct SessionPlan {
  UniqueFd link;      // to the server, whichever it is
  UniqueFd launcher;  // asked for warm contexts; its end is the session's end
  UniqueFd upper;     // root of the sandbox's writable filesystem
  Limits limits;
  bool memory_is_bounded = true;
  bool change_user = true;
  SetuidFiles setuid_files = SetuidFiles::kRefused;
};

}  // namespace glovebox::agent
