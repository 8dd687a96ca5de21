// Starts programs of a session: their streams, made as the user they are for, and one fork. Nobody
// waits for the exec: a guest may stop any process of his own user's on its way there.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"
#include "guest/agent/session/session_plan.h"
#include "guest/agent/session/session_user.h"
#include "wire/session_frames.h"

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

struct Forked {
  pid_t pid = 0;
  UniqueFd failure;  // end of file: it was executed, or died; else a GuestFailure
  std::string step;  // not empty: it was not even forked, and `error` says why
  int error = 0;
};
Forked fork_program(const SessionPlan& plan, const wire::StartProcess& start,
                    const SessionUser& user, const StreamEnds& theirs);

// The limits of a process that was forked elsewhere; false: it has them not.
bool limit_process(const SessionPlan& plan, pid_t pid);

}  // namespace glovebox::agent
