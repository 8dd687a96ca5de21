// A scope from the user's systemd for the calling process: a v2 cgroup of its own with what
// controllers the host delegates to this user.
#pragma once

#include <string>

#include "base/result.h"
#include "probe/cgroups/cgroup_layout.h"

namespace glovebox::probe {

// Whether this user has a systemd to ask.
bool has_user_systemd();
// Moves this process into a new scope and waits until it is in it; the scope ends with its last
// process. kUnavailable without a systemd of the user's.
Result<> enter_user_scope(const CgroupLayout& layout);

}  // namespace glovebox::probe
