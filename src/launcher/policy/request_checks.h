// What the launcher looks at itself, whatever the client says it has looked at: the descriptors
// that come with a request, and whether what it asks for can be kept here.
#pragma once

#include "base/result.h"
#include "model/limits.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

// Of a mount's source.
Result<> refuse_special_files(int fd);
Result<> refuse_kernel_filesystems(int fd);
// Of the sandbox's own socket.
Result<> check_link(int fd);
// A limit that was asked for by name and that no cgroup of ours controls.
Result<> refuse_unenforceable(const Limits& limits, const sys::CgroupFeatures& features);

}  // namespace glovebox::launcher
