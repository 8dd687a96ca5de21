// Removes what a call left in a reusable sandbox, once no process of the guest is there any more.
// docs/decisions/0046 says why that is all.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "guest/agent/init/ipc_objects.h"
#include "guest/agent/init/left_sockets.h"

namespace glovebox::agent {

class CallCleaner {
 public:
  // While /proc/sys is still writable, and before the sandbox may make no more namespaces.
  static Result<CallCleaner> prepare();

  // Files, IPC objects, times of terminals, and the numbers of processes; fails if sockets are
  // left. `scratch`: wire::kScratchPlaces.
  Result<> clean(std::vector<UniqueFd> scratch) const;

  // /proc/sys/kernel/ns_last_pid, for reading and writing.
  int last_pid() const { return last_pid_.get(); }

 private:
  CallCleaner(UniqueFd last_pid, IpcObjects ipc, LeftSockets sockets)
      : last_pid_(std::move(last_pid)), ipc_(std::move(ipc)), sockets_(std::move(sockets)) {}
  UniqueFd last_pid_;  // /proc/sys/kernel/ns_last_pid
  IpcObjects ipc_;
  LeftSockets sockets_;
};

}  // namespace glovebox::agent
