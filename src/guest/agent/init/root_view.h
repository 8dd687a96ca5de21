// Steps that give a process a root of its own, shared by sandboxes and zygotes: mounts that the
// launcher made are put together over the nursery's tiny root, then that is left for good.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::agent {

inline constexpr const char* kStage = "/stage";  // where the nursery's root has a place for ours

Result<> attach(int mount_fd, const std::string& where);
// Our copies must not tell the nursery's mount namespace anything.
Result<> make_mounts_private();
// Before the pivot: the kernel allows a fresh proc in a user namespace only while a fully visible
// one is mounted in the same mount namespace. It and /dev are made over the nursery's own and moved
// into the root once that is there.
Result<> mount_proc(const char* options);
Result<> move_proc_and_dev();
Result<> pivot_into_stage();

}  // namespace glovebox::agent
