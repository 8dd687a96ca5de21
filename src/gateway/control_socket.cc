#include "gateway/control_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>

#include "base/log.h"

namespace glovebox::gateway {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{50};

bool may_be_client(int socket, const AllowedClients& clients) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (clients.only != 0) return peer.pid == clients.only;
  return peer.uid == 0 || peer.uid == clients.uid;
}

}  // namespace

Result<UniqueFd> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument,
                path + ": too long for the path of a socket; use a shorter data_dir");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Error::from_errno("socket"));
  ::unlink(path.c_str());
  const mode_t mask = ::umask(0177);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(mask);
  if (bound != 0) return fail(Error::from_errno("bind", error).context(path));
  if (::listen(socket.get(), 4) != 0) return fail(Error::from_errno("listen").context(path));
  return socket;
}

struct ControlSocket::State : std::enable_shared_from_this<State> {
  State(asio::io_context& context, Gateway& served) : io(context), gateway(served) {}

  asio::io_context& io;
  Gateway& gateway;
  std::shared_ptr<Socket> listening;
  std::shared_ptr<ClientConnection> client;

  void use(UniqueFd socket, std::function<void()> closed) {
    if (client) client->close();
    client = ClientConnection::start(io, std::move(socket), gateway, std::move(closed));
  }
  static asio::awaitable<void> accept(std::shared_ptr<State> self, AllowedClients clients);
};

ControlSocket::ControlSocket(asio::io_context& io, Gateway& gateway)
    : state_(std::make_shared<State>(io, gateway)) {
  gateway.on_decided = [state = state_.get()](const wire::NetworkDecided& decided) {
    if (state->client) state->client->notify(decided);
  };
}

ControlSocket::~ControlSocket() {
  state_->gateway.on_decided = nullptr;
  boost::system::error_code error;
  if (state_->listening) state_->listening->close(error);
  if (state_->client) state_->client->close();
}

void ControlSocket::serve_only(UniqueFd client, std::function<void()> ended) {
  state_->use(std::move(client), std::move(ended));
}

bool ControlSocket::has_had_client() const { return state_->client != nullptr; }

void ControlSocket::serve(UniqueFd listening, AllowedClients clients) {
  state_->listening = std::make_shared<Socket>(state_->io, listening.release());
  asio::co_spawn(state_->io, State::accept(state_, clients), asio::detached);
}

asio::awaitable<void> ControlSocket::State::accept(std::shared_ptr<State> self,
                                                   AllowedClients clients) {
  const auto listening = self->listening;
  asio::steady_timer timer(self->io);
  while (true) {
    const auto [ec] = co_await listening->async_wait(Socket::wait_read, kAwaitTuple);
    if (ec || !listening->is_open()) co_return;
    UniqueFd socket(
        ::accept4(listening->native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      // Out of descriptors: the socket would stay ready and accept() would keep failing.
      timer.expires_after(kBetweenTries);
      co_await timer.async_wait(kAwaitTuple);
      continue;
    }
    if (!may_be_client(socket.get(), clients)) {
      log::warn("the gateway refused a client that is not its owner");
      continue;
    }
    self->use(std::move(socket), nullptr);
  }
}

}  // namespace glovebox::gateway
