// Brings `lo` of the current network namespace up.
#pragma once

namespace glovebox::sys {

// Returns 0 or an errno.
int bring_loopback_up() noexcept;

}  // namespace glovebox::sys
