// `glovebox run --server`: turns the options of a run into the body of POST /v1/run.
// glovebox-client sends it; it inherits the body as a descriptor.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/run_options.h"

namespace glovebox::cli {

// Reads the files to copy in. `input` is the program's standard input.
Result<std::string> remote_body(const RunOptions& options, const std::string& input);

// Reads standard input, unless it is a terminal or was the code, and executes glovebox-client.
// Returns only if that fails: the exit status.
int run_remotely(const RunOptions& options);

}  // namespace glovebox::cli
