// The shared memory, semaphores and message queues of this IPC namespace, which outlive the
// processes that made them. An IPC namespace cannot be replaced under a sandbox, because a sandbox
// may make no namespaces; so they are removed one by one.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

class IpcObjects {
 public:
  // Of the caller's IPC namespace, in which it has CAP_SYS_ADMIN.
  static Result<IpcObjects> open();

  // With no process of the guest left: afterwards there is none, or this fails.
  Result<> remove_all() const;

 private:
  explicit IpcObjects(UniqueFd queues) : queues_(std::move(queues)) {}
  UniqueFd queues_;  // the file system of POSIX message queues; none: this kernel has none
};

}  // namespace glovebox::agent
