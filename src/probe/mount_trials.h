// The mounts that probes try, one function each. All are for a helper process: they enter
// namespaces that cannot be left.
#pragma once

#include <string>

#include "probe/attempt.h"

namespace glovebox::probe {

// Where a trial covers an existing directory of the host, inside its own mount namespace.
inline constexpr const char* kTrialDir = "/tmp";

// The step at which a kernel or filesystem without idmapped mounts fails.
inline constexpr const char* kIdmapStep = "mount_setattr idmap";

Attempt try_tmpfs(Way way);
Attempt try_overlay(Way way);
Attempt try_idmapped_usr();
Attempt try_overlay_on_idmapped_usr();
Attempt try_proc_of_another_pid_namespace();

// A tmpfs at kTrialDir with directories "lower", "upper" and "work" in it, in the mount namespace
// the caller has already made private.
Attempt mount_workbench();
// An overlay with the workbench's upper over `lower`, not attached anywhere; its descriptor is
// the attempt's value.
Attempt make_detached_overlay(const std::string& lower);

}  // namespace glovebox::probe
