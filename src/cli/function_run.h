// `sandbox-run`: an AWS Lambda handler, here or on a server.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/function_options.h"

namespace glovebox::cli {

// A file of the runtimes: "opt/glovebox/python/run.py" and what is in it.
struct RuntimeText {
  std::string path;
  std::string_view bytes;
};
// Where the process engine gets the runtimes from, whose sandboxes have no root of their own; the
// jail's are in its layer. Set by main, since the launcher carries them.
void runtime_files_from(std::vector<RuntimeText> (*files)());

// The body of POST /v1/functions/invoke.
std::string invoke_body(const FunctionOptions& options);

// Returns the exit status.
int run_function_line(std::span<const std::string> args);

}  // namespace glovebox::cli
