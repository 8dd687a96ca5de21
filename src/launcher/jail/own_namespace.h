// Enters a mount namespace of the launcher's own, so that its mounts are not visible on the host;
// rootless also a user namespace, without which it may not mount.
#pragma once

#include "base/result.h"

namespace glovebox::launcher {

Result<> enter_own_namespace(bool rootless);

}  // namespace glovebox::launcher
