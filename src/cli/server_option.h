// `--server [URL]` and `--local`: whether a run happens here or on a server.
#pragma once

#include "base/result.h"
#include "options/option.h"

namespace glovebox::cli {

struct ServerOption {
  options::OptionalUrl server;  // --server
  bool local = false;           // --local
};

options::Option server_option(ServerOption& option);
options::Option local_option(ServerOption& option);

// True: on a server, because of --server or GLOVEBOX_URL. kInvalidArgument: --server and --local.
Result<bool> runs_on_server(const ServerOption& option);

}  // namespace glovebox::cli
