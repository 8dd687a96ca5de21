// What the supervisor uses of the data directory: the lock, the sockets and serve.json.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::supervisor {

// The content of `<data-dir>/serve.json`. The pids are for people and hints for programs: no
// process is signalled because of them.
struct ServeInfo {
  std::string url;
  pid_t pid = 0;
  pid_t launcher_pid = 0;
  pid_t gateway_pid = 0;  // none: sandboxes get no network for now
  pid_t supervisor_pid = 0;
  std::string version;
  bool operator==(const ServeInfo&) const = default;
};

class DataDir {
 public:
  // Creates it if it does not exist. kPolicy if other users can write it: the sockets are in it.
  static Result<DataDir> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string launcher_socket() const { return path_ + "/launcher.sock"; }
  std::string gateway_socket() const { return path_ + "/gateway.sock"; }
  std::string server_socket() const { return path_ + "/server.sock"; }
  std::string admin_key() const { return path_ + "/admin.key"; }
  int lock_fd() const { return lock_.get(); }

  // False: another process holds it. Released when this process ends, even if it is killed.
  Result<bool> try_lock();

  Result<> write_serve_info(const ServeInfo& info) const;
  std::optional<ServeInfo> read_serve_info() const;
  void remove_serve_info() const;
  void remove_admin_key() const;

 private:
  DataDir(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

// Whether a url that the server reported is well-formed. It is printed to a terminal and written to
// a file, and the server is not trusted.
bool is_plain_url(const std::string& url);

}  // namespace glovebox::supervisor
