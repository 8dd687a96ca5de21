// Whether sockets of a guest are left when none of its processes is: descriptors that are only in
// the queue of a socket that is itself in such a queue (SCM_RIGHTS), until the kernel's garbage
// collector finds them; connections that are being closed. They would hold ports and names.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

class LeftSockets {
 public:
  // Of the caller's network namespace.
  static Result<LeftSockets> open();

  // Fails if there is a socket in the namespace: the caller may have none of its own that was made
  // there.
  Result<> expect_none() const;

 private:
  explicit LeftSockets(UniqueFd counts) : counts_(std::move(counts)) {}
  UniqueFd counts_;  // /proc/net/sockstat
};

}  // namespace glovebox::agent
