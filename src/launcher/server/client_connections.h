// The launcher's connections: accepts clients, checks who they are, sends them replies, and drops
// those that break the protocol or do not read. Reading and serving requests is left to
// RequestDispatcher.
//
// Either or both: a listening socket, and a client that is connected from the start. Without a
// listening socket the launcher is private: it serves that one client and ends with it. Addresses
// of clients are stable until remove_gone(). Never blocks.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/server/client.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

class ClientConnections {
 public:
  // `owner`: the parent process that the launcher must not outlive, and the only one that may
  // connect; 0: none.
  ClientConnections(UniqueFd listener, pid_t owner)
      : listener_(std::move(listener)), owner_(owner) {}
  ClientConnections(const ClientConnections&) = delete;
  ClientConnections& operator=(const ClientConnections&) = delete;

  // Called once for a client that is dropped, after its record was marked as gone: everything else
  // that points to it has to let go.
  void on_drop(std::function<void(Client&)> handler) { on_drop_ = std::move(handler); }

  // kPermissionDenied if the peer may not use this launcher.
  Result<> add(UniqueFd socket);
  void accept();
  int listener_fd() const { return listener_.get(); }
  bool is_private() const { return !listener_; }
  pid_t owner() const { return owner_; }
  bool owner_has_exited() const;

  std::list<Client>& all() { return clients_; }
  const std::list<Client>& all() const { return clients_; }
  void drop(Client& client);
  void drop_all();
  void remove_gone();

  // Drops a client whose socket takes nothing, rather than wait for it.
  void send(Client& client, const wire::LauncherReply& reply, std::span<const int> fds = {});
  // The same, except that a full socket is no reason to drop the client. Returns whether it was
  // sent.
  bool try_send(Client& client, const wire::LauncherReply& reply, std::span<const int> fds = {});
  void refuse(Client& client, std::uint32_t seq, const Error& error);
  // Done, or the error.
  void answer(Client& client, std::uint32_t seq, const Result<>& outcome);
  // Whether a reply of any size fits into its socket.
  static bool has_room(const Client& client);

 private:
  UniqueFd listener_;
  pid_t owner_;
  std::function<void(Client&)> on_drop_;
  std::list<Client> clients_;
};

}  // namespace glovebox::launcher
