// What `glovebox run` was asked for: words of the command line, checked and turned into types
// before anything is started. Every mistake is one clear line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/one_shot.h"
#include "model/dependencies.h"
#include "net/net_policy.h"

namespace glovebox::cli {

struct RunOptions {
  std::string engine;
  engine::RunRequest request;
  bool json = false;
  bool terminal = false;
  bool stdin_is_code = false;  // "-": the program's own stdin is then empty
  std::string language;        // "python", "bash", "node": files_in ends with its code; or --exec
  std::vector<std::string> own_env;  // --env, as typed
  bool is_remote = false;            // on a server: --server, or GLOVEBOX_URL
  std::string url;                   // --server URL; empty: the one that is known
  std::string template_name;         // --template; empty: the language's
  net::NetPolicy net;                // --net and --net-deny
  Dependencies dependencies;         // --with, --requirements, --lock, --preload
  // No server was named, and packages are only installed by one: it is remote, on a server that
  // ends with the run.
  bool is_private = false;
};

struct ParsedRun {
  std::optional<RunOptions> options;
  std::string help;  // filled instead when help was asked for
};

// `code_from_stdin` is called when the code is to be read from standard input.
Result<ParsedRun> parse_run_options(std::span<const std::string> args,
                                    Result<std::string> (*code_from_stdin)());

}  // namespace glovebox::cli
