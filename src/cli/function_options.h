// What `sandbox-run` was asked for: words of the command line, checked and turned into types before
// anything is started. Every mistake is one clear line, and has its exit status.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/limits.h"
#include "wire/functions/function_call.h"

namespace glovebox::cli {

struct FunctionOptions {
  wire::FunctionCall call;
  std::string engine;
  Limits limits;
  std::vector<std::string> env;  // --env, as typed
  bool json = false;
  bool profile = false;
  bool is_remote = false;
  std::string url;  // --server URL; empty: the one that is known
};

struct ParsedFunction {
  std::optional<FunctionOptions> options;
  std::string help;  // filled instead when help or the version was asked for
};

// kNotFound: a file is not there or cannot be read. `event_from_stdin` is called when the event is
// to be read from standard input.
Result<ParsedFunction> parse_function_options(std::span<const std::string> args,
                                              Result<std::string> (*event_from_stdin)());

}  // namespace glovebox::cli
