// What the server opens before it drops privileges: its socket, its certificates, its part of the
// data directory. Afterwards it uses files only below `store`.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "config/settings.h"
#include "confine/server_user.h"
#include "http/server/listener.h"
#include "http/tls.h"

namespace glovebox::server {

struct ServerResources {
  http::Listener listener;
  std::shared_ptr<const http::TlsContext> tls;  // or null
  std::string store_dir;
  UniqueFd store_lock;      // held until exit: one server per store
  UniqueFd admin_key;       // <data-dir>/admin.key, if the first key is to be written there
  UniqueFd control_socket;  // <data-dir>/server.sock, listening for a new supervisor
  std::string url;
};

Result<ServerResources> open_server_resources(const config::Settings& settings,
                                              const confine::ServerIds& ids);

// Writes the key and nothing else into the file.
Result<> write_admin_key(const UniqueFd& file, const std::string& secret);
bool is_empty_file(const UniqueFd& file);

}  // namespace glovebox::server
