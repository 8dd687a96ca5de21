// `glovebox bench`. `glovebox` executes glovebox-bench for it.
#pragma once

#include <string>
#include <vector>

namespace glovebox::bench {

// Returns the exit status.
int bench_command(const std::vector<std::string>& args);

}  // namespace glovebox::bench
