// Where an ordinary user's launcher makes its cgroups: below the cgroups that it is in itself, in
// every hierarchy in which they were given to the user; in v2 else in a scope that it asks the
// user's systemd for. A hierarchy in which the user has none is left out.
#pragma once

#include "sys/cgroup.h"

namespace glovebox::launcher {

// `shared`: the launcher is a server's, whose sessions can be paused.
sys::CgroupRoots delegated_cgroup_roots(bool shared);

}  // namespace glovebox::launcher
