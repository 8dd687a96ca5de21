// Where the server is and which key to use: from options, the environment and the files that
// `glovebox serve` leaves in its data directory, in falling precedence.
#pragma once

#include <string>

#include "base/result.h"
#include "options/option.h"

namespace glovebox::client {

// As typed; empty: not given.
struct ServerLocationOptions {
  std::string url;                   // --url or --server
  std::string url_option = "--url";  // which of them was typed
  std::string key;                   // --key
  std::string data_dir;              // --data-dir
};

// The group "Server", which every client command has. `options` must outlive the parsing.
options::OptionGroup server_location_options(ServerLocationOptions& options);

// What find_server_location() reads besides the options; tests provide their own.
struct ServerLocationEnvironment {
  std::string url;                          // GLOVEBOX_URL
  std::string key;                          // GLOVEBOX_API_KEY
  std::string data_dir;                     // the default of `glovebox serve`
  std::string program = "glovebox-server";  // the name of a server's process
  static ServerLocationEnvironment here();
};

struct ServerLocation {
  std::string url;
  std::string origin;  // of the URL: "--server", "GLOVEBOX_URL", "/var/lib/glovebox/serve.json"
  std::string key;     // empty: none was found
  std::string key_origin;
};

// kUnavailable: no server is known; the message says what to type. kInvalidArgument: the URL is
// malformed. The key in <data-dir>/admin.key is only used for the server of that data directory, so
// that `--url` cannot send it to another server.
Result<ServerLocation> find_server_location(const ServerLocationOptions& options,
                                            const ServerLocationEnvironment& environment);

// The content of <data-dir>/admin.key, whether a server runs or not.
Result<std::string> find_admin_key(const ServerLocationOptions& options,
                                   const ServerLocationEnvironment& environment);

}  // namespace glovebox::client
