// `sandbox-run`: run an AWS Lambda handler, on this machine or on a server.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/function_options.h"

namespace glovebox::cli {

// A file of the language runtimes, such as "opt/glovebox/python/run.py", and its content.
struct RuntimeFile {
  std::string path;
  std::string_view bytes;
};
// Sets the source of the runtime files for the process engine, whose sandboxes have no root file
// system (the jail has them in a layer). main() calls it, because this layer cannot include the
// launcher.
void set_runtime_files(std::vector<RuntimeFile> (*files)());

// The body of POST /v1/functions/invoke.
std::string invoke_body(const FunctionOptions& options);

// Returns the exit status.
int run_function_line(std::span<const std::string> args);

}  // namespace glovebox::cli
