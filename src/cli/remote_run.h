// `glovebox run --server`: the options of a run as the body of POST /v1/run. Sending it is the
// work of glovebox-server, which gets the body in a descriptor.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/run_options.h"

namespace glovebox::cli {

// Reads the files that are to go in. `input` is the program's standard input.
Result<std::string> remote_body(const RunOptions& options, const std::string& input);

// Reads standard input unless it is a terminal or was the code, and becomes glovebox-server.
// Returns only when that fails: the exit status.
int run_remotely(const RunOptions& options);

}  // namespace glovebox::cli
