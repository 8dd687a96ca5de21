#include "cli/server_option.h"

#include <cstdlib>

namespace glovebox::cli {

options::Option server_option(ServerOption& option) {
  return {
      "--server", "[URL]",
      "run on a server: the one at URL, else the one that is known (GLOVEBOX_URL does the same)",
      &option.server};
}

options::Option url_option(ServerOption& option) {
  options::TakeValue take = [&option](std::string url) -> Result<> {
    option.server = {.given = true, .url = std::move(url)};
    option.typed_name = "--url";
    return {};
  };
  return {"--url", "URL", "", std::move(take)};
}

options::Option key_option(ServerOption& option) {
  return {"--key", "KEY",
          "with --server: key to use (default: GLOVEBOX_API_KEY, else <data-dir>/admin.key for a "
          "server on this machine)",
          &option.key};
}

options::Option data_dir_option(ServerOption& option) {
  return {"--data-dir", "DIR",
          "with --server: data directory of the server (default: that of `glovebox serve`)",
          &option.data_dir};
}

options::Option local_option(ServerOption& option) {
  return {"--local", "", "run on this machine, even if GLOVEBOX_URL is set", &option.local};
}

Result<bool> runs_on_server(const ServerOption& option) {
  if (option.server.given && option.local) {
    return fail(Errc::kInvalidArgument, "--server and --local cannot be combined");
  }
  const char* url = std::getenv("GLOVEBOX_URL");
  const bool is_remote =
      !option.local && (option.server.given || (url != nullptr && url[0] != '\0'));
  if (!is_remote && !(option.key.empty() && option.data_dir.empty())) {
    return fail(Errc::kInvalidArgument, std::string(option.key.empty() ? "--data-dir" : "--key") +
                                            " is only for runs on a server; use --server");
  }
  return is_remote;
}

std::vector<std::string> server_arguments(const ServerOption& option) {
  std::vector<std::string> words;
  const std::pair<std::string, const std::string*> all[] = {{option.typed_name, &option.server.url},
                                                            {"--key", &option.key},
                                                            {"--data-dir", &option.data_dir}};
  for (const auto& [name, value] : all) {
    if (!value->empty()) words.insert(words.end(), {name, *value});
  }
  return words;
}

}  // namespace glovebox::cli
