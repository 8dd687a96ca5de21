// `glovebox bench --profile`.
#pragma once

#include "bench/bench_options.h"

namespace glovebox::bench {

// Starts a server of its own. Returns the exit status.
int profile_command(const BenchOptions& options);

}  // namespace glovebox::bench
