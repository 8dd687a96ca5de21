#include "launcher/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>

#include "base/fd_message.h"
#include "base/log.h"
#include "launcher/clients.h"
#include "launcher/graves.h"
#include "launcher/host_packages.h"
#include "wire/launcher_messages.h"
#include "wire/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

constexpr std::size_t kMaxClients = 512;
constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::seconds kStopsWithin{10};
constexpr int kLookWhileStoppingMs = 200;
constexpr std::size_t kCleanedAtOnce = 2;
// Read ahead of a client that has asked for more than we have made; then its socket fills up.
constexpr std::size_t kMaxPendingCreates = 64;
constexpr std::size_t kMaxRequestFds = 1 + wire::kMaxMounts;

class Server {
 public:
  Server(SandboxMaker& maker, std::uint32_t max_sandboxes, UniqueFd listener)
      : maker_(maker), max_sandboxes_(max_sandboxes), listener_(std::move(listener)) {}

  Result<> add_client(UniqueFd socket);
  Result<> run();

 private:
  void accept_client();
  void on_requests(Client& client);
  bool on_request(Client& client);
  void make_next();
  bool has_pending() const;
  void create(Client& client, const wire::CreateSandbox& request, std::vector<UniqueFd> fds);
  void take_made();
  void own(Sandbox sandbox, const Expected& expected);
  void refuse(Client& client, std::uint32_t seq, const Error& error);
  void announce(Owned& owned);
  void on_joining(Owned& owned);
  void give_up_joining(Owned& owned, const std::string& why);
  void take(Client& client, const wire::TakeSandbox& request);
  void destroy(Client& client, const SandboxId& id);
  void become_server(Client& client);
  void tell_of_templates();
  void look_at_packages();
  Owned* find(const Client& client, const SandboxId& id);
  void drop(Client& client);
  void finish_dead();
  bool is_dead(const Sandbox& sandbox) const;
  void say(Client& client, const wire::LauncherReply& reply);
  int wait_ms() const;
  int spare_wait_ms() const;
  // Started for one client and one sandbox: ends with it.
  bool is_private() const { return !listener_; }

  SandboxMaker& maker_;
  HostPackages packages_;
  Clock::time_point look_at_ = Clock::now();
  bool done_ = false;
  std::uint32_t max_sandboxes_;
  UniqueFd listener_;
  std::list<Client> clients_;  // stable addresses
  std::list<Owned> sandboxes_;
  std::map<std::uint64_t, Expected> expected_;  // by ticket
  std::uint64_t next_ticket_ = 0;
  Graves graves_;
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
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const UniqueFd signal_events(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  JailMaker& jails = maker_.jails();
  const auto release = [this](const Sandbox& sandbox) { maker_.release(sandbox); };
  bool stopping = false;
  Clock::time_point stop_by = Clock::time_point::max();
  while (true) {
    if (stopping) {
      for (Client& client : clients_) drop(client);
    }
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
      return {};
    }
    tell_of_templates();

    std::vector<pollfd> events;
    events.push_back({signal_events.get(), POLLIN, 0});
    events.push_back({stopping ? -1 : listener_.get(), POLLIN, 0});
    for (const Client& client : clients_) {
      const bool full = client.creates.size() >= kMaxPendingCreates;
      events.push_back({full ? -1 : client.socket.get(), POLLIN, 0});
    }
    const std::size_t first_sandbox = events.size();
    for (const Owned& owned : sandboxes_) {
      events.push_back({owned.sandbox.pidfd(), POLLIN, 0});
      if (owned.sandbox.joining) events.push_back({owned.sandbox.setup_fd(), POLLIN, 0});
    }
    const std::size_t first_of_jails = events.size();
    jails.add_events(events);
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
    for (Owned& owned : sandboxes_) owned.sandbox.check(now);
    const auto any_from = [&events](std::size_t from) {
      return std::any_of(events.begin() + static_cast<std::ptrdiff_t>(from), events.end(),
                         [](const pollfd& event) { return event.revents != 0; });
    };
    for (Owned& owned : sandboxes_) {
      if (owned.sandbox.joining) on_joining(owned);  // also when its time is up
    }
    // What a dead broker had dies with it and is finished above; the next request starts a new one.
    const bool time_to_look = now >= look_at_;
    if (any_from(first_of_jails) || time_to_look) jails.broods().on_events();
    jails.advance();
    take_made();
    if (time_to_look) {
      look_at_packages();
      look_at_ = now + kLookEvery;
    }
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
    std::size_t at = 2;
    for (auto client = clients_.begin(); client != clients_.end() && at < first_sandbox; ++client) {
      if (events[at++].revents != 0) on_requests(*client);  // one accepted just now is behind these
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
  for (const Owned& owned : sandboxes_) next = std::min(next, owned.sandbox.next_check(now));
  if (const auto deadline = maker_.jails().next_deadline()) next = std::min(next, *deadline);
  if (const auto due = graves_.next_due()) next = std::min(next, *due);
  if (const auto look = maker_.jails().broods().next_look()) next = std::min(next, *look);
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
void Server::on_requests(Client& client) {
  while (!client.gone && client.creates.size() < kMaxPendingCreates && on_request(client)) {
  }
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
  } else if (std::holds_alternative<wire::BecomeServer>(*request)) {
    become_server(client);
  } else if (auto* prepare = std::get_if<wire::PrepareTemplate>(&*request)) {
    // How it goes is told with the template's status.
    if (auto begun = maker_.prepare_template(prepare->name); !begun) {
      log::warn("a template is not prepared", {{"error", begun.error().message()}});
    }
  }
  return true;
}

void Server::become_server(Client& client) {
  client.caller.is_server = true;
  for (const TemplateStatus& status : maker_.jails().broods().statuses()) {
    say(client, wire::TemplateChanged{status});
  }
}

void Server::tell_of_templates() {
  for (const TemplateStatus& status : maker_.jails().broods().take_changes()) {
    for (Client& client : clients_) {
      if (client.caller.is_server) say(client, wire::TemplateChanged{status});
    }
  }
}

// A package upgrade below live overlays is undefined for the kernel: nothing that was made of the
// old files is handed out once it is over.
void Server::look_at_packages() {
  if (is_private() || !packages_.have_changed()) return;
  log::warn("the host's packages have changed; zygotes and waiting sandboxes are renewed");
  maker_.host_files_changed();
}

void Server::create(Client& client, const wire::CreateSandbox& request, std::vector<UniqueFd> fds) {
  if (done_ || sandboxes_.size() + expected_.size() >= max_sandboxes_) {
    return refuse(client, request.seq,
                  Error(Errc::kResourceExhausted, "the launcher has no room for another sandbox"));
  }
  const Expected expected{&client, request.seq, request.limits, request.template_name,
                          request.waits};
  const std::uint64_t ticket = next_ticket_++;
  expected_.emplace(ticket, expected);
  const bool hurry = !client.creates.empty() || maker_.jails().under_way() > 0;
  auto sandbox = maker_.make(request, std::move(fds), client.caller, ticket, hurry);
  if (sandbox && !*sandbox) return take_made();  // begun; perhaps there was a spare
  expected_.erase(ticket);
  if (!sandbox) return refuse(client, request.seq, sandbox.error());
  own(std::move(**sandbox), expected);
}

void Server::refuse(Client& client, std::uint32_t seq, const Error& error) {
  say(client, wire::SandboxRefused{seq, error.code(), error.sys_errno(), error.message()});
}

// What has become of the jails that were begun.
void Server::take_made() {
  for (JailMaker::Made& made : maker_.jails().take_made()) {
    const auto found = expected_.find(made.ticket);
    const Expected expected = found->second;
    expected_.erase(found);
    if (made.sandbox) {
      own(std::move(*made.sandbox), expected);
    } else if (expected.client != nullptr) {
      refuse(*expected.client, expected.seq, made.sandbox.error());
    }
  }
}

void Server::own(Sandbox sandbox, const Expected& expected) {
  Owned& owned =
      sandboxes_.emplace_back(Owned{std::move(sandbox), expected.client, expected.seq,
                                    expected.limits, expected.template_name, expected.waits});
  if (owned.client == nullptr) return owned.sandbox.kill(EndReason::kDestroyed);
  if (!owned.sandbox.joining) announce(owned);
}

// The sandbox is all that was asked for.
void Server::announce(Owned& owned) {
  if (owned.client == nullptr) return;
  if (!owned.waits && owned.sandbox.is_waiting()) {
    const auto limits = maker_.checked_limits(owned.limits);
    const Result<> taken = limits ? owned.sandbox.take(*limits) : Result<>(fail(limits.error()));
    if (!taken) return give_up_joining(owned, taken.error().message());
  }
  owned.announced = true;
  const std::uint32_t generation = maker_.jails().broods().generation_of(owned.template_name);
  say(*owned.client,
      wire::SandboxCreated{owned.seq, owned.sandbox.id(), owned.sandbox.walls(), generation});
}

void Server::on_joining(Owned& owned) {
  Broods& broods = maker_.jails().broods();
  const Sandbox::Joining joining = *owned.sandbox.joining;
  pollfd event{owned.sandbox.setup_fd(), POLLIN, 0};
  if (::poll(&event, 1, 0) != 1) {
    if (Clock::now() < joining.deadline) return;
    broods.gave_up_waiting(joining.template_name, joining.zygote_uid);
    return give_up_joining(owned, "the runtime does not arrive");
  }
  auto received = receive_message(owned.sandbox.setup_fd(), wire::kMaxPlanMessage, 0);
  auto message = received && !received->bytes.empty()
                     ? wire::decode_plan_message(received->bytes)
                     : Result<wire::PlanMessage>(fail(Errc::kUnavailable, "its agent is gone"));
  broods.joined(joining.template_name, joining.zygote_uid);
  if (message && std::holds_alternative<wire::RuntimeReady>(*message)) {
    owned.sandbox.joining.reset();
    return announce(owned);
  }
  const auto* failed = message ? std::get_if<wire::SandboxFailed>(&*message) : nullptr;
  give_up_joining(owned, failed != nullptr ? failed->step : "the runtime did not become ready");
}

// Nothing comes of it; the client may ask for a cold one.
void Server::give_up_joining(Owned& owned, const std::string& why) {
  log::warn("a sandbox was not finished", {{"why", why}});
  owned.sandbox.joining.reset();
  if (owned.client != nullptr) {
    say(*owned.client, wire::SandboxRefused{owned.seq, Errc::kUnavailable, 0, why});
  }
  owned.client = nullptr;
  owned.sandbox.kill(EndReason::kDestroyed);
}

Owned* Server::find(const Client& client, const SandboxId& id) {
  for (Owned& owned : sandboxes_) {
    // Another client's sandbox is not there for this one.
    if (owned.sandbox.id() == id && owned.client == &client) return &owned;
  }
  return nullptr;
}

void Server::take(Client& client, const wire::TakeSandbox& request) {
  Owned* owned = find(client, request.id);
  if (owned == nullptr || !owned->announced || !owned->sandbox.is_waiting()) {
    return say(client, wire::SandboxRefused{0, Errc::kNotFound, 0, "no such sandbox waits"});
  }
  const auto limits = maker_.checked_limits(request.limits);
  const Result<> taken = limits ? owned->sandbox.take(*limits) : Result<>(fail(limits.error()));
  if (taken) return;
  const Error& error = taken.error();
  owned->client = nullptr;
  say(client, wire::SandboxRefused{0, error.code(), error.sys_errno(), error.message()});
  say(client, wire::SandboxEnded{request.id, EndReason::kDestroyed, {}});
  owned->sandbox.kill(EndReason::kDestroyed);
}

void Server::destroy(Client& client, const SandboxId& id) {
  Owned* owned = find(client, id);
  if (owned == nullptr) {
    return say(client, wire::SandboxRefused{0, Errc::kNotFound, 0, "there is no such sandbox"});
  }
  // What it has used is known now; it dies and is cleaned up behind the answer.
  // Its own reason if it had one already: a limit was reached before the client let go.
  const EndReason reason =
      owned->sandbox.is_ending() ? owned->sandbox.end_reason() : EndReason::kDestroyed;
  owned->client = nullptr;
  // First the answer: a process that is killed runs to its end before us if it has our CPU.
  say(client, wire::SandboxEnded{id, reason, owned->sandbox.usage()});
  owned->sandbox.kill(EndReason::kDestroyed);
  if (is_private()) maker_.jails().broods().kill_plain_nursery();
}

void Server::drop(Client& client) {
  client.gone = true;
  client.socket.reset();
  client.creates.clear();
  for (auto& [ticket, expected] : expected_) {
    if (expected.client == &client) expected.client = nullptr;
  }
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
    const wire::SandboxEnded ended{owned->sandbox.id(), owned->sandbox.end_reason(), usage};
    const bool announced = owned->announced;
    const std::uint32_t seq = owned->seq;
    Client* client = owned->client;
    if (const auto& joining = owned->sandbox.joining) {
      maker_.jails().broods().joined(joining->template_name, joining->zygote_uid);
    }
    if (owned->sandbox.is_empty()) maker_.release(owned->sandbox);
    // A private launcher has nothing else to do.
    if (is_private() && owned->sandbox.is_empty()) (void)owned->sandbox.clean_up();
    if (!owned->sandbox.is_clean()) graves_.add(std::move(owned->sandbox));
    owned = sandboxes_.erase(owned);
    if (is_private() && sandboxes_.empty()) {
      // We stay until the client goes: closing on a message of its that we have not read would take
      // our answer from it.
      maker_.shut_down();
      done_ = true;
    }
    if (client == nullptr) continue;
    if (announced) {
      say(*client, ended);
    } else {
      say(*client, wire::SandboxRefused{seq, Errc::kUnavailable, 0, "it died before it was ready"});
    }
  }
}

void Server::say(Client& client, const wire::LauncherReply& reply) {
  if (client.gone) return;
  // A client that does not read its answers is dropped rather than waited for.
  if (!send_message(client.socket.get(), wire::encode(reply))) drop(client);
}

}  // namespace

Result<> serve_clients(SandboxMaker& maker, std::uint32_t max_sandboxes, UniqueFd listener,
                       UniqueFd client) {
  Server server(maker, max_sandboxes, std::move(listener));
  if (client) TRY_OK(server.add_client(std::move(client)));
  return server.run();
}

}  // namespace glovebox::launcher
