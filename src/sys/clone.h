// clone3 and its relatives, for single-threaded programs.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

struct Cloned {
  pid_t pid = 0;  // 0 in the child
  UniqueFd pidfd;
};
// A fork into new namespaces, with a copy of the memory and SIGCHLD at its end. With a v2 cgroup's
// directory it is cloned into that cgroup, which, unlike joining later, takes no system-wide lock.
Result<Cloned> clone_into(std::uint64_t namespace_flags, int cgroup_fd = -1);

// Acts as another effective user for one namespace-creating clone: the kernel charges a user
// namespace's quotas to its creator, which must not be host root. Capabilities are kept,
// which needs SECBIT_NO_SETUID_FIXUP (keep_capabilities_across_uid_changes).
Result<> keep_capabilities_across_uid_changes();
Result<> become_effective(uid_t uid, gid_t gid);

int send_signal(int pidfd, int signal) noexcept;

}  // namespace glovebox::sys
