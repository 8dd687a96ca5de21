#include "launcher/server/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fd_message.h"
#include "base/log.h"
#include "launcher/server/server_loop.h"

namespace glovebox::launcher {
namespace {

constexpr std::size_t kMaxClients = 512;
constexpr std::chrono::seconds kLookEvery{1};
// His server ends with him at once, and the end of its connection is what wakes us.
constexpr std::chrono::seconds kLookForOwnerEvery{10};
constexpr std::chrono::seconds kStopsWithin{10};
constexpr int kLookWhileStoppingMs = 200;
constexpr std::size_t kCleanedAtOnce = 2;
// Read ahead of a client that has asked for more than we have made; then its socket fills up.
constexpr std::size_t kMaxPendingCreates = 64;
// Read of one client in one round; then it is the others' turn. One that has hung up cannot send
// any more, and is read to its end.
constexpr std::size_t kMostOfAClient = 32;
constexpr std::size_t kAllOfAClient = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMaxRequestFds = 2 + wire::kMaxMounts;

}  // namespace

Server::Server(SandboxMaker& maker, std::uint32_t max_sandboxes, UniqueFd listener, pid_t owner,
               SandboxWatch watch)
    : maker_(maker),
      max_sandboxes_(max_sandboxes),
      listener_(std::move(listener)),
      owner_(owner),
      watch_(std::move(watch)),
      sessions_(maker.jails().broods(), watch_,
                [this](Client& client, const wire::LauncherReply& reply) { say(client, reply); }) {}

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
  // A guest of an ordinary user's has that user's uid, and the socket may be in a directory that is
  // mounted for it. A private launcher opens host paths by their names, so here the uid is not
  // enough.
  if (owner_ != 0 && peer.pid != owner_) {
    return fail(Errc::kPermissionDenied, "a client that is not our owner");
  }
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  clients_.push_back({std::move(socket), {peer.uid, peer.gid}});
  return {};
}

Result<> Server::run() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const UniqueFd signal_events(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  JailMaker& jails = maker_.jails();
  if (!is_private()) maker_.shelf().sweep();
  const auto release = [this](const Sandbox& sandbox) { maker_.release(sandbox); };
  bool stopping = false;
  Clock::time_point stop_by = Clock::time_point::max();
  while (true) {
    // Not by the kernel's death signal: our own changes of user would take that back.
    if (!stopping && owner_ != 0 && ::getppid() != owner_) {
      stop_by = Clock::now() + kStopsWithin;
      stopping = true;
    }
    if (stopping) end_all();
    finish_dead();
    graves_.clean_up(kCleanedAtOnce, release);
    clients_.remove_if([](const Client& client) { return client.gone; });
    if (stopping) jails.drop_spare();
    // However stubborn one is: what is left dies with its nursery.
    const bool out_of_time = stopping && Clock::now() > stop_by;
    if (out_of_time) log::warn("not everything has ended in time");
    if (out_of_time || (sandboxes_.empty() && expected_.empty() &&
                        (stopping || (is_private() && clients_.empty())))) {
      graves_.clean_up_all(release);
      keepings_.clear();
      tidy_layers(Clock::now());
      maker_.shelf().removals().finish();
      return {};
    }
    tell_of_templates();

    std::vector<pollfd> events;
    events.push_back({signal_events.get(), POLLIN, 0});
    events.push_back({stopping ? -1 : listener_.get(), POLLIN, 0});
    for (const Client& client : clients_) {
      const bool full = client.creates.size() >= kMaxPendingCreates;
      const bool has_more =
          client.listing || client.layer_listing || client.is_behind || !client.news.empty();
      const int wanted = (full || client.is_behind ? 0 : POLLIN) | (has_more ? POLLOUT : 0);
      events.push_back({wanted == 0 ? -1 : client.socket.get(), static_cast<short>(wanted), 0});
    }
    const std::size_t past_clients = events.size();
    const std::size_t of_sandboxes = events.size();
    events.push_back({watch_.fd(), POLLIN, 0});
    for (const Owned* owned : runs_) {
      if (owned->sandbox.joining) events.push_back({owned->sandbox.setup_fd(), POLLIN, 0});
    }
    const std::size_t first_of_jails = events.size();
    jails.add_events(events);
    add_layer_events(events);
    const bool want_spare = !is_private() && !stopping && jails.wants_spare();
    // A few at a time: more would only wait for each other.
    constexpr std::size_t kMostUnderWay = 3;
    const bool pending = has_pending() && !stopping && jails.under_way() < kMostUnderWay;
    const int ready = ::poll(events.data(), events.size(),
                             pending      ? 0
                             : stopping   ? kLookWhileStoppingMs
                             : want_spare ? spare_wait_ms()
                                          : wait_ms());
    if (ready < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
    if (ready == 0 && want_spare && !pending) jails.make_spare();  // there is nothing better to do
    const Clock::time_point now = Clock::now();
    for (Owned* owned : runs_) owned->sandbox.check(now);
    const auto any_from = [&events](std::size_t from) {
      return std::any_of(events.begin() + static_cast<std::ptrdiff_t>(from), events.end(),
                         [](const pollfd& event) { return event.revents != 0; });
    };
    if (events[of_sandboxes].revents != 0) hear_of_sandboxes();
    sessions_.look(now);
    for (Owned* owned : runs_) {
      if (owned->sandbox.joining) on_joining(*owned);  // also when its time is up
    }
    // What a dead broker had dies with it and is finished above; the next request starts a new one.
    const bool time_to_look = now >= look_at_;
    if (any_from(first_of_jails) || time_to_look) jails.broods().on_events();
    jails.advance();
    jails.remains().clean_up(now);
    take_made();
    if (time_to_look) {
      look_at_packages();
      tidy_templates();
      tidy_layers(now);
      look_at_ = now + kLookEvery;
    }
    go_on_with_layers();
    if ((events[0].revents & POLLIN) != 0) {
      signalfd_siginfo signal{};
      const bool read = ::read(signal_events.get(), &signal, sizeof signal) > 0;
      // A hang-up is a word of the administrator's to a launcher that is shared.
      if (read && signal.ssi_signo == SIGHUP && !is_private()) {
        maker_.load_templates_again();
      } else {
        if (!stopping) stop_by = Clock::now() + kStopsWithin;
        stopping = true;
      }
    }
    if ((events[1].revents & POLLIN) != 0) accept_client();
    // Who has gone comes first: what was his may be asked for by somebody else in this round. One
    // accepted just now is behind all these.
    std::size_t at = 2;
    for (auto client = clients_.begin(); client != clients_.end() && at < past_clients; ++client) {
      if ((events[at++].revents & (POLLHUP | POLLERR)) != 0) on_requests(*client, kAllOfAClient);
    }
    at = 2;
    for (auto client = clients_.begin(); client != clients_.end() && at < past_clients; ++client) {
      const short happened = events[at++].revents;
      if (client->gone) continue;
      if ((happened & POLLOUT) != 0) go_on_listing(*client);
      if ((happened & POLLOUT) != 0) go_on_listing_layers(*client);
      if ((happened & POLLOUT) != 0) tell_news(*client);
      const bool catches_up = (happened & POLLOUT) != 0 && std::exchange(client->is_behind, false);
      if ((happened & POLLIN) != 0 || catches_up) on_requests(*client, kMostOfAClient);
    }
    if (pending && jails.under_way() < kMostUnderWay) make_next();
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
  for (const Owned* owned : runs_) next = std::min(next, owned->sandbox.next_check());
  if (const auto look = sessions_.next_look(now)) next = std::min(next, *look);
  if (const auto deadline = maker_.jails().next_deadline()) next = std::min(next, *deadline);
  if (const auto due = graves_.next_due()) next = std::min(next, *due);
  if (const auto due = maker_.jails().remains().next_due()) next = std::min(next, *due);
  if (const auto look = maker_.jails().broods().next_look()) next = std::min(next, *look);
  if (const auto look = next_layer_look()) next = std::min(next, *look);
  if (owner_ != 0) next = std::min(next, now + kLookForOwnerEvery);
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

// What waits is read at once: takes and destroys are quick, and somebody waits for them; sandboxes
// are made one at a time behind them.
void Server::on_requests(Client& client, std::size_t most) {
  while (!client.gone && client.creates.size() < kMaxPendingCreates && most-- > 0) {
    client.is_behind = !has_room(client);
    if (client.is_behind || !on_request(client)) return;
  }
}

// The kernel says so of a socket when three quarters of its buffer are free.
bool Server::has_room(const Client& client) {
  pollfd event{client.socket.get(), POLLOUT, 0};
  return ::poll(&event, 1, 0) == 1;
}

bool Server::has_pending() const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const Client& client) { return !client.creates.empty(); });
}

// One sandbox, for the client whose turn it is.
void Server::make_next() {
  for (auto client = clients_.begin(); client != clients_.end(); ++client) {
    if (client->gone || client->creates.empty()) continue;
    PendingCreate pending = std::move(client->creates.front());
    client->creates.pop_front();
    create(*client, pending.request, std::move(pending.fds));
    clients_.splice(clients_.end(), clients_, client);
    return;
  }
}

// Whether there may be another.
bool Server::on_request(Client& client) {
  auto received = receive_message(client.socket.get(), wire::kMaxLauncherMessage, kMaxRequestFds);
  if (!received && received.error().sys_errno() == EAGAIN) return false;
  if (!received || received->bytes.empty()) {
    drop(client);
    return false;
  }
  auto request = wire::decode_launcher_request(received->bytes);
  if (!request) {
    // A client that cannot spell is a client that cannot be trusted with what it has.
    log::warn("malformed request");
    drop(client);
    return false;
  }
  if (auto* create_request = std::get_if<wire::CreateSandbox>(&*request)) {
    client.creates.push_back({std::move(*create_request), std::move(received->fds)});
  } else if (auto* take_request = std::get_if<wire::TakeSandbox>(&*request)) {
    take(client, *take_request);
  } else if (auto* destroy_request = std::get_if<wire::DestroySandbox>(&*request)) {
    destroy(client, destroy_request->id);
  } else if (auto* freeze_request = std::get_if<wire::FreezeSandbox>(&*request)) {
    freeze(client, *freeze_request);
  } else if (auto* measure_request = std::get_if<wire::MeasureSandbox>(&*request)) {
    measure(client, *measure_request);
  } else if (auto* list_request = std::get_if<wire::ListSandboxes>(&*request)) {
    list(client, list_request->seq);
  } else if (std::holds_alternative<wire::BecomeServer>(*request)) {
    become_server(client);
  } else if (auto* prepare_request = std::get_if<wire::PrepareTemplate>(&*request)) {
    prepare(client, prepare_request->name);
  } else if (auto* define_request = std::get_if<wire::DefineTemplate>(&*request)) {
    define(client, *define_request);
  } else if (auto* forget_request = std::get_if<wire::ForgetTemplate>(&*request)) {
    forget(client, *forget_request);
  } else if (auto* lend_request = std::get_if<wire::LendNetwork>(&*request)) {
    lend(client, *lend_request);
  } else if (auto* keep_request = std::get_if<wire::KeepLayer>(&*request)) {
    keep_layer(client, std::move(*keep_request));
  } else if (auto* note_request = std::get_if<wire::NoteLayer>(&*request)) {
    note_layer(client, std::move(*note_request));
  } else if (auto* drop_request = std::get_if<wire::DropLayer>(&*request)) {
    drop_layer(client, *drop_request);
  } else if (auto* layers_request = std::get_if<wire::ListLayers>(&*request)) {
    list_layers(client, layers_request->seq);
  }
  return true;
}

// A package upgrade below live overlays is undefined for the kernel: nothing that was made of the
// old files is handed out once it is over.
void Server::look_at_packages() {
  if (is_private() || !packages_.have_changed()) return;
  log::warn("the host's packages have changed; zygotes and waiting sandboxes are renewed");
  maker_.host_files_changed();
}

void Server::say(Client& client, const wire::LauncherReply& reply) {
  if (client.gone) return;
  // A client that does not read its answers is dropped rather than waited for.
  if (!send_message(client.socket.get(), wire::encode(reply))) drop(client);
}

Result<> serve_clients(SandboxMaker& maker, std::uint32_t max_sandboxes, UniqueFd listener,
                       UniqueFd client, pid_t owner) {
  TRY(SandboxWatch watch, SandboxWatch::open());
  Server server(maker, max_sandboxes, std::move(listener), owner, std::move(watch));
  if (client) TRY_OK(server.add_client(std::move(client)));
  return server.run();
}

}  // namespace glovebox::launcher
