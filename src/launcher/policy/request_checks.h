// Checks that the launcher makes itself and does not leave to its clients: of the descriptors that
// come with a request, and of limits that this host cannot enforce.
#pragma once

#include "base/result.h"
#include "model/limits.h"
#include "model/wall.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

// For the source of a mount. kPolicy.
Result<> refuse_special_files(int fd);
Result<> refuse_kernel_filesystems(int fd);
// For the sandbox's own socket: a unix SEQPACKET socket, or of a session also a unix stream socket,
// else kProtocol.
enum class LinkOf : bool { kRun, kSession };
Result<> check_link(int fd, LinkOf whose);
// What a first process or a broker said of a step that failed. kResourceExhausted if the host, or
// what all sandboxes may use together, is full: that passes; else kInternal.
Error setup_failure(std::string step, int sys_errno);
// kUnsupported for a limit that was asked for explicitly, that no cgroup can enforce, and that no
// rlimit can stand in for; a default that cannot be enforced is accepted.
Result<> check_enforceable(const Limits& limits, const sys::CgroupFeatures& features);
// The walls of these limits, or the weaker ones that rlimits make of them.
void add_limit_walls(const sys::CgroupFeatures& features, WallSet& walls);

}  // namespace glovebox::launcher
