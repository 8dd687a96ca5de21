#include "launcher/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <list>

#include "base/fd_message.h"
#include "base/log.h"
#include "wire/launcher_messages.h"

namespace glovebox::launcher {
namespace {

constexpr std::size_t kMaxClients = 512;
constexpr std::size_t kMaxRequestFds = 1 + wire::kMaxMounts;

struct Client {
  UniqueFd socket;
  Caller caller;
  bool gone = false;
};

struct Owned {
  Sandbox sandbox;
  Client* client;  // null once the client has gone; the sandbox is dying then
};

class Server {
 public:
  Server(SandboxMaker maker, std::uint32_t max_sandboxes, UniqueFd listener)
      : maker_(std::move(maker)), max_sandboxes_(max_sandboxes), listener_(std::move(listener)) {}

  Result<> add_client(UniqueFd socket);
  Result<> run();

 private:
  void accept_client();
  void on_request(Client& client);
  void create(Client& client, const wire::CreateSandbox& request, std::vector<UniqueFd> fds);
  void destroy(Client& client, const SandboxId& id);
  void drop(Client& client);
  void finish_dead();
  bool is_dead(const Sandbox& sandbox) const;
  void say(Client& client, const wire::LauncherReply& reply);
  int wait_ms() const;
  int spare_wait_ms() const;
  // Started for one client and one sandbox: ends with it.
  bool is_private() const { return !listener_; }

  SandboxMaker maker_;
  bool done_ = false;
  std::uint32_t max_sandboxes_;
  UniqueFd listener_;
  std::list<Client> clients_;  // stable addresses
  std::list<Owned> sandboxes_;
};

Result<> Server::add_client(UniqueFd socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail(Error::from_errno("ask who the client is"));
  }
  // The socket's mode says the same; this also holds if somebody passed the descriptor on.
  if (peer.uid != 0 && peer.uid != ::geteuid()) {
    return fail(Errc::kPermissionDenied, "a client that is neither root nor us");
  }
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  clients_.push_back({std::move(socket), {peer.uid, peer.gid}});
  return {};
}

Result<> Server::run() {
  sigset_t stops;
  ::sigemptyset(&stops);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&stops, signal);
  ::sigprocmask(SIG_BLOCK, &stops, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const UniqueFd stop_events(::signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  bool stopping = false;
  while (true) {
    if (stopping) {
      for (Client& client : clients_) drop(client);
    }
    finish_dead();
    clients_.remove_if([](const Client& client) { return client.gone; });
    if (stopping) maker_.drop_spare();
    if (sandboxes_.empty() && (stopping || (is_private() && clients_.empty()))) return {};

    std::vector<pollfd> events;
    events.push_back({stop_events.get(), POLLIN, 0});
    events.push_back({stopping ? -1 : listener_.get(), POLLIN, 0});
    events.push_back({maker_.nursery_pidfd(), POLLIN, 0});
    for (const Client& client : clients_) events.push_back({client.socket.get(), POLLIN, 0});
    for (const Owned& owned : sandboxes_) events.push_back({owned.sandbox.pidfd(), POLLIN, 0});
    const bool want_spare = !is_private() && !stopping && maker_.wants_spare();
    const int ready =
        ::poll(events.data(), events.size(), want_spare ? spare_wait_ms() : wait_ms());
    if (ready < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
    if (ready == 0 && want_spare) maker_.make_spare();  // there is nothing better to do
    const Clock::time_point now = Clock::now();
    for (Owned& owned : sandboxes_) owned.sandbox.check(now);
    if ((events[0].revents & POLLIN) != 0) stopping = true;
    if ((events[1].revents & POLLIN) != 0) accept_client();
    // Its sandboxes die with it and are finished above; the next request starts a new one.
    if ((events[2].revents & POLLIN) != 0) maker_.forget_nursery();
    std::size_t at = 3;
    for (auto client = clients_.begin(); client != clients_.end() && at < events.size(); ++client) {
      if (events[at].fd != client->socket.get()) break;  // a client accepted just now
      if (events[at++].revents != 0) on_request(*client);
    }
  }
}

// At once if nobody is being served; else when they seem to be busy for longer.
int Server::spare_wait_ms() const {
  constexpr int kLongerMs = 5;
  if (sandboxes_.empty()) return 0;
  const int most = wait_ms();
  return most < 0 ? kLongerMs : std::min(most, kLongerMs);
}

int Server::wait_ms() const {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = Clock::time_point::max();
  for (const Owned& owned : sandboxes_) next = std::min(next, owned.sandbox.next_check(now));
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

void Server::accept_client() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  if (clients_.size() >= kMaxClients) {
    log::warn("too many clients");
    return;
  }
  if (auto added = add_client(std::move(socket)); !added) {
    log::warn("client refused", {{"error", added.error().message()}});
  }
}

void Server::on_request(Client& client) {
  auto received = receive_message(client.socket.get(), wire::kMaxLauncherMessage, kMaxRequestFds);
  if (!received && received.error().sys_errno() == EAGAIN) return;
  if (!received || received->bytes.empty()) return drop(client);
  auto request = wire::decode_launcher_request(received->bytes);
  if (!request) {
    // A client that cannot spell is a client that cannot be trusted with what it has.
    log::warn("malformed request");
    return drop(client);
  }
  if (auto* create_request = std::get_if<wire::CreateSandbox>(&*request)) {
    create(client, *create_request, std::move(received->fds));
  } else if (auto* destroy_request = std::get_if<wire::DestroySandbox>(&*request)) {
    destroy(client, destroy_request->id);
  }
}

void Server::create(Client& client, const wire::CreateSandbox& request, std::vector<UniqueFd> fds) {
  Result<Sandbox> sandbox =
      done_ || sandboxes_.size() >= max_sandboxes_
          ? fail(Errc::kResourceExhausted, "the launcher has no room for another sandbox")
          : maker_.make(request, std::move(fds), client.caller);
  if (!sandbox) {
    const Error& error = sandbox.error();
    return say(client, wire::SandboxRefused{error.code(), error.sys_errno(), error.message()});
  }
  const wire::SandboxCreated created{sandbox->id(), sandbox->walls()};
  sandboxes_.push_back({std::move(*sandbox), &client});
  say(client, created);
}

void Server::destroy(Client& client, const SandboxId& id) {
  for (Owned& owned : sandboxes_) {
    // Another client's sandbox is not there for this one.
    if (owned.sandbox.id() == id && owned.client == &client) {
      // What it has used is known now; it dies and is cleaned up behind the answer.
      // Its own reason if it had one already: a limit was reached before the client let go.
      const EndReason reason =
          owned.sandbox.is_ending() ? owned.sandbox.end_reason() : EndReason::kDestroyed;
      owned.client = nullptr;
      // First the answer: a process that is killed runs to its end before us if it has our CPU.
      say(client, wire::SandboxEnded{id, reason, owned.sandbox.usage()});
      owned.sandbox.kill(EndReason::kDestroyed);
      if (is_private()) maker_.kill_nursery();
      return;
    }
  }
  say(client, wire::SandboxRefused{Errc::kNotFound, 0, "there is no such sandbox"});
}

void Server::drop(Client& client) {
  client.gone = true;
  client.socket.reset();
  for (Owned& owned : sandboxes_) {
    if (owned.client != &client) continue;
    owned.client = nullptr;
    owned.sandbox.kill(EndReason::kDestroyed);
  }
}

bool Server::is_dead(const Sandbox& sandbox) const {
  pollfd event{sandbox.pidfd(), POLLIN, 0};
  return ::poll(&event, 1, 0) == 1;
}

void Server::finish_dead() {
  for (auto owned = sandboxes_.begin(); owned != sandboxes_.end();) {
    if (!is_dead(owned->sandbox)) {
      ++owned;
      continue;
    }
    const Usage usage = owned->sandbox.finish();
    maker_.release(owned->sandbox);
    const wire::SandboxEnded ended{owned->sandbox.id(), owned->sandbox.end_reason(), usage};
    Client* client = owned->client;
    owned = sandboxes_.erase(owned);
    if (is_private() && sandboxes_.empty()) {
      // We stay until the client goes: closing on a message of its that we have not read would take
      // our answer from it.
      maker_.shut_down();
      done_ = true;
    }
    if (client != nullptr) say(*client, ended);
  }
}

void Server::say(Client& client, const wire::LauncherReply& reply) {
  if (client.gone) return;
  // A client that does not read its answers is dropped rather than waited for.
  if (!send_message(client.socket.get(), wire::encode(reply))) drop(client);
}

}  // namespace

Result<> serve_clients(SandboxMaker maker, std::uint32_t max_sandboxes, UniqueFd listener,
                       UniqueFd client) {
  Server server(std::move(maker), max_sandboxes, std::move(listener));
  if (client) TRY_OK(server.add_client(std::move(client)));
  return server.run();
}

Result<UniqueFd> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument, "the socket's path is too long");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Error::from_errno("socket"));
  const UniqueFd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), name, sizeof address) == 0) {
    return fail(Errc::kUnavailable, "another launcher listens at " + path);
  }
  if (errno == ECONNREFUSED) ::unlink(path.c_str());  // a dead one's
  const mode_t old_mask = ::umask(0177);
  const bool bound = ::bind(socket.get(), name, sizeof address) == 0;
  const int error = errno;
  ::umask(old_mask);
  if (!bound) return fail(Error::from_errno("listen at " + path, error));
  if (::listen(socket.get(), 128) != 0) return fail(Error::from_errno("listen at " + path));
  return socket;
}

}  // namespace glovebox::launcher
