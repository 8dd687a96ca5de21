// The launcher's own mount namespace, so that nothing it mounts is seen on the host; and, for an
// ordinary user, the user namespace in which it may mount at all.
#pragma once

#include "base/result.h"

namespace glovebox::launcher {

Result<> enter_own_namespace(bool rootless);

}  // namespace glovebox::launcher
