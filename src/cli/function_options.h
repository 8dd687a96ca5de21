// The options of `sandbox-run`, checked and converted to types before anything is started. Every
// mistake is reported as one line and has its exit status.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/server_option.h"
#include "model/dependencies.h"
#include "model/limits.h"
#include "model/profile.h"
#include "net/net_policy.h"
#include "wire/functions/function_call.h"

namespace glovebox::cli {

struct FunctionOptions {
  wire::FunctionCall call;
  std::string engine;
  Limits limits;
  std::vector<std::string> env;  // --env, as typed
  net::NetPolicy net;            // --net and --net-deny
  Dependencies dependencies;     // --with, --requirements, --lock, --preload, --host-packages
  bool json = false;
  bool profile = false;
  bool is_remote = false;
  bool is_private = false;  // packages without a server: one is started for this call
  ServerOption where;       // on which server, with which key
  ReuseMode reuse = ReuseMode::kNever;
};

struct ParsedFunction {
  std::optional<FunctionOptions> options;
  std::string help;  // for --help and --version, instead of the options
};

// kNotFound: a file does not exist or cannot be read. `event_from_stdin` is called if the event
// comes from standard input.
Result<ParsedFunction> parse_function_options(std::span<const std::string> args,
                                              Result<std::string> (*event_from_stdin)());

}  // namespace glovebox::cli
