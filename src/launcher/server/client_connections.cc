#include "launcher/server/client_connections.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "base/fd_message.h"
#include "base/log.h"

namespace glovebox::launcher {
namespace {

constexpr std::size_t kMaxClients = 512;

}  // namespace

Result<> ClientConnections::add(UniqueFd socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail(Error::from_errno("read the client's credentials"));
  }
  // The socket's mode says the same; this also holds if a process passed the descriptor on.
  if (peer.uid != 0 && peer.uid != ::geteuid()) {
    return fail(Errc::kPermissionDenied, "the client's uid " + std::to_string(peer.uid) +
                                             " is neither root's nor the launcher's");
  }
  // A guest of an ordinary user has that user's uid, and the socket may be in a directory that is
  // mounted for it. A private launcher opens host paths by name, so the uid alone is not enough.
  if (owner_ != 0 && peer.pid != owner_) {
    return fail(Errc::kPermissionDenied, "the client is process " + std::to_string(peer.pid) +
                                             ", and only the launcher's owner, process " +
                                             std::to_string(owner_) + ", may connect");
  }
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  clients_.push_back({std::move(socket), {peer.uid, peer.gid}});
  return {};
}

void ClientConnections::accept() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  if (clients_.size() >= kMaxClients) {
    log::warn("a client was refused: too many are connected",
              {{"clients", std::to_string(clients_.size())}});
    return;
  }
  if (auto added = add(std::move(socket)); !added) {
    log::warn("a client was refused", {{"error", added.error().message()}});
  }
}

bool ClientConnections::owner_has_exited() const {
  // Not by the kernel's parent-death signal: our own changes of user would clear that.
  return owner_ != 0 && ::getppid() != owner_;
}

void ClientConnections::drop(Client& client) {
  client.gone = true;
  client.socket.reset();
  client.creates.clear();
  client.sandbox_listing.reset();
  client.layer_listing.reset();
  on_drop_(client);
}

void ClientConnections::drop_all() {
  for (Client& client : clients_) drop(client);
}

void ClientConnections::remove_gone() {
  clients_.remove_if([](const Client& client) { return client.gone; });
}

void ClientConnections::send(Client& client, const wire::LauncherReply& reply,
                             std::span<const int> fds) {
  if (client.gone) return;
  if (!send_message(client.socket.get(), wire::encode(reply), fds)) drop(client);
}

bool ClientConnections::try_send(Client& client, const wire::LauncherReply& reply,
                                 std::span<const int> fds) {
  if (client.gone) return false;
  const auto sent = send_message(client.socket.get(), wire::encode(reply), fds);
  if (!sent && sent.error().sys_errno() != EAGAIN) drop(client);
  return sent.has_value();
}

void ClientConnections::refuse(Client& client, std::uint32_t seq, const Error& error) {
  send(client, wire::SandboxRefused{seq, error.code(), error.sys_errno(), error.message()});
}

void ClientConnections::answer(Client& client, std::uint32_t seq, const Result<>& outcome) {
  if (!outcome) return refuse(client, seq, outcome.error());
  send(client, wire::Done{seq});
}

bool ClientConnections::has_room(const Client& client) {
  // The kernel reports POLLOUT when three quarters of the socket's buffer are free.
  pollfd event{client.socket.get(), POLLOUT, 0};
  return ::poll(&event, 1, 0) == 1;
}

}  // namespace glovebox::launcher
