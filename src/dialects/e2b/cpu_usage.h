// How busy a sandbox's CPUs were between two samples.
#pragma once

#include <cstdint>

#include "sessions/session_entry.h"

namespace glovebox::e2b {

// Of all its CPUs together, 0 to 100. `before` is null for the first sample, of which nothing is
// known.
double cpu_used_percent(const sessions::SessionSample& sample,
                        const sessions::SessionSample* before, std::uint32_t cpus);

}  // namespace glovebox::e2b
