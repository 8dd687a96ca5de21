#include "cli/server_option.h"

#include <cstdlib>

namespace glovebox::cli {

options::Option server_option(ServerOption& option) {
  return {
      "--server", "[URL]",
      "run on a server: the one at URL, else the one that is known (GLOVEBOX_URL does the same)",
      &option.server, "--url"};
}

options::Option local_option(ServerOption& option) {
  return {"--local", "", "run on this machine, even if GLOVEBOX_URL is set", &option.local};
}

Result<bool> runs_on_server(const ServerOption& option) {
  if (option.server.given && option.local) {
    return fail(Errc::kInvalidArgument, "--server and --local cannot be combined");
  }
  const char* url = std::getenv("GLOVEBOX_URL");
  return !option.local && (option.server.given || (url != nullptr && url[0] != '\0'));
}

}  // namespace glovebox::cli
