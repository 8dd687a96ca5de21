// Starts programs of a session: creates their streams as their user, and forks. The agent does not
// wait for the exec: a guest may stop any process of its own user before that.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"
#include "guest/agent/session/session_plan.h"
#include "guest/agent/session/session_user.h"
#include "wire/guest/session_frames.h"

namespace glovebox::agent {

// One side of a process's streams, by descriptor number inside; empty where there is none. All of
// `theirs` are above the numbers that they will have. Ours do not block. Of a terminal, ours are
// `in` and `out`, both its master.
struct StreamEnds {
  UniqueFd in, out, err, results, requests;
};
struct SessionStreams {
  StreamEnds ours;
  StreamEnds theirs;
};
// `null` is /dev/null as it was before there was any guest. False: errno says why.
bool make_streams(const wire::StartProcess& start, const SessionUser& user, bool change_user,
                  int null, SessionStreams& streams);

struct ForkedProgram {
  pid_t pid = 0;
  UniqueFd failure;  // end of file: it was executed, or died; else a GuestFailure
  std::string step;  // not empty: the fork failed, with `error`
  int error = 0;
};
ForkedProgram fork_program(const SessionPlan& plan, const wire::StartProcess& start,
                           const SessionUser& user, const StreamEnds& theirs);

// Sets the limits of a process that a zygote forked; false: that failed.
bool limit_process(const SessionPlan& plan, pid_t pid);

}  // namespace glovebox::agent
