// `--server [URL]` and `--local`: whether a run happens here or on a server; `--key` and
// `--data-dir`: on which one, and with which key.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "options/option.h"

namespace glovebox::cli {

struct ServerOption {
  options::OptionalUrl server;          // --server, or --url
  std::string typed_name = "--server";  // which of them; errors name it
  std::string key;                      // --key
  std::string data_dir;                 // --data-dir
  bool local = false;                   // --local
};

options::Option server_option(ServerOption& option);
// As the other commands call it; --help does not show it twice.
options::Option url_option(ServerOption& option);
options::Option key_option(ServerOption& option);
options::Option data_dir_option(ServerOption& option);
options::Option local_option(ServerOption& option);

// True: on a server, because of --server or GLOVEBOX_URL. kInvalidArgument: --server and --local,
// or a key or a data directory although no server was asked for.
Result<bool> runs_on_server(const ServerOption& option);

// The same options for glovebox-client.
std::vector<std::string> server_arguments(const ServerOption& option);

}  // namespace glovebox::cli
