// The data directory, as far as the supervisor uses it: its lock, its sockets, serve.json.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::supervisor {

// What `<data-dir>/serve.json` says. Pids in it are for people and a hint for programs: nobody is
// ever signalled because of them.
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
  // Makes it if it is not there. Refuses one that others can write: our sockets are in it.
  static Result<DataDir> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string launcher_socket() const { return path_ + "/launcher.sock"; }
  std::string gateway_socket() const { return path_ + "/gateway.sock"; }
  std::string server_socket() const { return path_ + "/server.sock"; }
  std::string admin_key() const { return path_ + "/admin.key"; }
  int lock_fd() const { return lock_.get(); }

  // False: another process has it. Given up when this process ends, however it does.
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

// An address as a server of ours may report it. It goes to a terminal and into a file, and the
// server is not trusted with either.
bool is_plain_url(const std::string& url);

}  // namespace glovebox::supervisor
