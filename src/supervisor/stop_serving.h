// `glovebox serve --stop`.
#pragma once

#include <string>

#include "base/result.h"
#include "config/load.h"
#include "supervisor/data_dir.h"

namespace glovebox::supervisor {

// Stops what serves on this data directory and waits for its end: the supervisor that holds the
// lock, or the programs that a killed one left running.
Result<> stop_serving(config::LoadedSettings config, DataDir data, const std::string& version);

}  // namespace glovebox::supervisor
