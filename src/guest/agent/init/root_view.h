// Steps that give a process its own root, shared by sandboxes and zygotes: the launcher's mounts
// are attached over the nursery's minimal root, which is then left with pivot_root.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::agent {

inline constexpr const char* kStage =
    "/stage";  // the directory of the nursery's root where ours is built

Result<> attach(int mount_fd, const std::string& where);
// Our mounts must not propagate to the nursery's mount namespace.
Result<> make_mounts_private();
// Before the pivot: the kernel allows a fresh proc in a user namespace only while a fully visible
// one is mounted in the same mount namespace. It and /dev are made over the nursery's own and moved
// into the root once that is there.
Result<> mount_proc(const char* options);
Result<> move_proc_and_dev();
Result<> pivot_into_stage();

}  // namespace glovebox::agent
