// The options of `glovebox run`, checked and converted to types before anything is started. Every
// mistake is reported as one line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/server_option.h"
#include "engine/one_shot.h"
#include "model/dependencies.h"
#include "model/profile.h"
#include "net/net_policy.h"

namespace glovebox::cli {

struct RunOptions {
  std::string engine;
  engine::RunRequest request;
  bool json = false;
  bool terminal = false;
  bool stdin_is_code = false;  // "-": the program's standard input is empty
  std::string language;  // "python", "bash", "node": files_in ends with the code; empty with --exec
  std::vector<std::string> own_env;  // --env, as typed
  bool is_remote = false;            // on a server: --server, or GLOVEBOX_URL
  ServerOption where;                // on which server, with which key
  std::string template_name;         // --template; empty: that of the language
  ReuseMode reuse = ReuseMode::kNever;
  net::NetPolicy net;         // --net and --net-deny
  Dependencies dependencies;  // --with, --requirements, --lock, --preload
  std::string image;          // --image; empty: the host's files
  std::string pull;           // --pull: missing, always or never
  // Packages and images need a server and none was named: a private server is started for this run.
  bool is_private = false;
};

struct ParsedRun {
  std::optional<RunOptions> options;
  std::string help;  // for --help, instead of the options
};

// `code_from_stdin` is called if the code comes from standard input.
Result<ParsedRun> parse_run_options(std::span<const std::string> args,
                                    Result<std::string> (*code_from_stdin)());

}  // namespace glovebox::cli
