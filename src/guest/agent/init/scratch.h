// All that the guest of a reusable sandbox can write to: one tmpfs of the launcher's, with the
// sandbox's disk limit, seen at /home, /tmp, /var/tmp and /dev/shm (wire::kScratchPlaces). The root
// below it is read-only. Between two calls it is replaced by a new one.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

// Once, in the sandbox's root and before any guest is in it. Fails if the template has files of its
// own in these places, which a new tmpfs would hide.
Result<> begin_scratch(std::vector<UniqueFd> mounts);

// With no process of the guest left. Fails if anything still uses the old one: what that is, is not
// known, so the sandbox must end.
Result<> replace_scratch(std::vector<UniqueFd> mounts);

}  // namespace glovebox::agent
