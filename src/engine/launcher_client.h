// Our end of a launcher: one that is running, or a private one that lives as long as this object.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::engine {

// Serves the one client on `client_fd` and returns an exit status.
using ServePrivately = int (*)(int client_fd, const std::string& agent_path);

class LauncherClient {
 public:
  // With this a private launcher is a fork of this program; else it is a program of its own.
  static void serve_privately_with(ServePrivately serve);
  // GLOVEBOX_LAUNCHER: "private", or the path of a socket; unset: the running one if there is one,
  // else a private one.
  static Result<LauncherClient> connect();
  LauncherClient(LauncherClient&& other) noexcept;
  LauncherClient& operator=(LauncherClient&& other) noexcept;
  ~LauncherClient();

  int fd() const { return socket_.get(); }
  Result<> send(const wire::LauncherRequest& request, std::span<const int> fds = {});
  // Waits for the next reply. Only who asks for descriptors may get some.
  Result<wire::LauncherReply> receive(std::vector<UniqueFd>* fds = nullptr);
  // Closes; a private launcher is waited for, so that nothing of it is left when this returns.
  void close();

 private:
  LauncherClient(UniqueFd socket, pid_t private_pid)
      : socket_(std::move(socket)), private_pid_(private_pid) {}
  UniqueFd socket_;
  pid_t private_pid_ = 0;
};

// Where a program of ours is: in $GLOVEBOX_LIBEXEC if that is set, beside this one, or in
// ../libexec/glovebox.
std::string program_path(const std::string& name);

}  // namespace glovebox::engine
