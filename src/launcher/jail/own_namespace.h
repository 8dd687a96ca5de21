// Enters a mount namespace of the launcher's own, so that its mounts are not visible on the host;
// rootless also a user namespace, without which it may not mount.
#pragma once

#include "base/result.h"
#include "probe/subordinate_ids.h"

namespace glovebox::launcher {

// For a launcher of root.
Result<> enter_own_mount_namespace();

// For an ordinary user's: the user becomes 0 inside, and no other is there.
Result<> enter_own_user_namespace();

// The same with the user's subordinate ids, where it has some and newuidmap maps them: they become
// 1 and up. Returns them; no uids: there are none. `reserved`: uids that a launcher of root gives
// to its sandboxes.
Result<probe::SubordinateIds> enter_with_subordinate_ids(const probe::IdRange& reserved);

}  // namespace glovebox::launcher
