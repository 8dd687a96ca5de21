#include "gateway/network.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <map>
#include <tuple>

#include "base/log.h"
#include "gateway/relay/dial.h"
#include "gateway/relay/hello_reader.h"

namespace glovebox::gateway {
namespace {

using Clock = std::chrono::steady_clock;

// Connections accepted before other sandboxes are served.
constexpr int kAcceptAtOnce = 16;
constexpr std::chrono::milliseconds kWithoutDescriptors{100};
constexpr std::chrono::seconds kMayTakeToSayHello{10};
constexpr std::chrono::seconds kMayTakeToConnect{10};
constexpr std::size_t kFewOpen = 16;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int socket_option(int socket, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

// The server passes on what the launcher made; a mistake should be noticed here, not by a guest.
Result<> check_sockets(const NetworkSockets& sockets) {
  const int connections = sockets.connections.get();
  const bool listens = socket_option(connections, SO_ACCEPTCONN) == 1 &&
                       socket_option(connections, SO_TYPE) == SOCK_STREAM &&
                       (socket_option(connections, SO_DOMAIN) == AF_INET6 ||
                        socket_option(connections, SO_DOMAIN) == AF_INET);
  if (!listens)
    return fail(Errc::kInvalidArgument, "the first descriptor is not a listening TCP socket");
  if (socket_option(sockets.names.get(), SO_TYPE) != SOCK_DGRAM ||
      socket_option(sockets.names.get(), SO_DOMAIN) != AF_INET) {
    return fail(Errc::kInvalidArgument, "the second descriptor is not a datagram socket for DNS");
  }
  return {};
}

std::string reason(const Error& error) {
  return error.sys_errno() != 0 ? std::strerror(error.sys_errno()) : error.message();
}

// TCP memory is shared by the whole host, and a guest that stops reading keeps what has arrived. So
// the more connections a sandbox has, the less may wait in each: some 60 MB in 1024 of them, which
// the kernel counts twice. A window of 512 KiB allows 40 Mbit/s from a server 100 ms away.
std::size_t receive_bytes(std::size_t open) {
  if (open < 8) return 1024 * 1024;
  if (open < 32) return 512 * 1024;
  if (open < 128) return 128 * 1024;
  return 32 * 1024;
}

// Not a possible name of a project: builds have a DNS cache of their own.
std::string resolver_tenant_of_builds() { return std::string(1, '\0') + "builds"; }

template <class T>
std::optional<T> least(std::optional<T> a, std::optional<T> b) {
  if (a && b) return std::min(*a, *b);
  return a ? a : b;
}

}  // namespace

// Counts a connection from accept() until it is relayed or refused.
class Network::Setup {
 public:
  explicit Setup(std::shared_ptr<Network> network)
      : network_(std::move(network)), of_all_(network_->shared_.setting_up) {
    ++network_->setting_up_;
    ++*of_all_;
  }
  ~Setup() {
    --network_->setting_up_;
    --*of_all_;
    for (const auto& socket : sockets_) network_->waiting_.erase(socket);
  }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
  // Closed together with the network.
  void holds(std::shared_ptr<Socket> socket) {
    network_->waiting_.insert(socket);
    sockets_.push_back(std::move(socket));
  }

 private:
  std::shared_ptr<Network> network_;
  std::shared_ptr<std::size_t> of_all_;
  std::vector<std::shared_ptr<Socket>> sockets_;
};

Network::Network(NetworkDependencies& shared, SandboxId id, std::string tenant, Purpose purpose)
    : shared_(shared),
      id_(std::move(id)),
      tenant_(std::move(tenant)),
      is_build_(purpose == Purpose::kBuild) {
  log_.on_first = [this](const wire::NetDecision& decision) {
    if (on_decided) on_decided(decision);
  };
}

Network::~Network() { close(); }

Result<> Network::open(NetworkSockets sockets, net::NetPolicy policy) {
  TRY_OK(check_sockets(sockets));
  boost::system::error_code error;
  const auto listener = std::make_shared<Socket>(shared_.io);
  const auto process = std::make_shared<Socket>(shared_.io);
  listener->assign(sockets.connections.get(), error);
  if (!error) {
    (void)sockets.connections.release();
    process->assign(sockets.process.get(), error);
  }
  if (error) return fail(Errc::kInvalidArgument, "the process descriptor cannot be polled");
  (void)sockets.process.release();
  listener->non_blocking(true, error);

  set_rules(std::move(policy));
  if (!names_) {
    const SandboxNamesOptions options{.tenant = is_build_ ? resolver_tenant_of_builds() : tenant_,
                                      .hosts = is_build_ ? &shared_.hosts : nullptr,
                                      .max_names = budgets_.names.value_or(~0ull)};
    names_ =
        SandboxNames::make(shared_.resolver, options, rules_, [this](wire::NetDecision decision) {
          if (!decision.allowed) ++totals_.denied;
          log_.note(std::move(decision), now_ms());
        });
  }
  dns_responder_.reset();
  TRY(dns_responder_, DnsResponder::open(shared_.io, std::move(sockets.names), names_));
  if (listener_) listener_->close(error);
  if (process_) process_->close(error);
  listener_ = listener;
  process_ = process;
  close_forbidden_relays();
  asio::co_spawn(shared_.io, accept(shared_from_this(), listener), asio::detached);
  asio::co_spawn(shared_.io, watch(shared_from_this(), process), asio::detached);
  return {};
}

void Network::set_rules(net::NetPolicy policy) {
  const net::NetBudgets& most = ceiling().policy.budgets;
  budgets_.bytes_out = least(policy.budgets.bytes_out, most.bytes_out);
  budgets_.connections = least(policy.budgets.connections, most.connections);
  budgets_.names = least(policy.budgets.names, most.names);
  rules_ = std::make_shared<const net::NetRules>(
      net::NetRules{.policy = std::move(policy), .ceiling = ceiling()});
  if (!names_) return;
  names_->set_rules(rules_);
  names_->set_max_names(budgets_.names.value_or(~0ull));
}

void Network::change_policy(net::NetPolicy policy) {
  set_rules(std::move(policy));
  close_forbidden_relays();
}

// Connections in setup are decided again before they are relayed.
void Network::close_forbidden_relays() {
  // A thousand relays to one target are decided once.
  const auto differs = [](const Target* a, const Target* b) {
    return std::tie(a->address, a->port, a->server_name, a->hello_was_read, a->names) <
           std::tie(b->address, b->port, b->server_name, b->hello_was_read, b->names);
  };
  std::map<const Target*, bool, decltype(differs)> decided(differs);
  std::vector<RelayId> forbidden;
  for (const auto& [id, link] : links_) {
    auto known = decided.find(&link.target);
    if (known == decided.end()) {
      known = decided.emplace(&link.target, decide_now(link.target).allowed).first;
    }
    if (!known->second) forbidden.push_back(id);
  }
  decided.clear();  // it points into links_, which changes now
  for (const RelayId id : forbidden) {
    links_.erase(id);
    shared_.relays.cut(id);
  }
}

void Network::close() {
  boost::system::error_code error;
  if (listener_) listener_->close(error);
  if (process_) process_->close(error);
  listener_.reset();
  process_.reset();
  dns_responder_.reset();
  if (names_) {
    totals_ = totals();
    names_->close();
    names_.reset();
  }
  for (const auto& socket : std::exchange(waiting_, {})) socket->close(error);
  for (const auto& [id, link] : links_) shared_.relays.flush(id);
  links_.clear();
}

asio::awaitable<void> Network::watch(std::shared_ptr<Network> self,
                                     std::shared_ptr<Socket> process) {
  const auto [ec] = co_await process->async_wait(Socket::wait_read, kAwaitTuple);
  if (ec || self->process_ != process) co_return;
  self->close();
  if (self->on_ended) self->on_ended();
}

asio::awaitable<void> Network::accept(std::shared_ptr<Network> self, std::shared_ptr<Socket> from) {
  asio::steady_timer timer(self->shared_.io);
  while (true) {
    const auto [ec] = co_await from->async_wait(Socket::wait_read, kAwaitTuple);
    if (ec || !from->is_open()) co_return;
    for (int i = 0; i < kAcceptAtOnce && from->is_open(); ++i) {
      UniqueFd guest(
          ::accept4(from->native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (guest) {
        self->handle_connection(std::move(guest));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        log::warn("the gateway is out of descriptors for new connections");
        timer.expires_after(kWithoutDescriptors);
        co_await timer.async_wait(kAwaitTuple);
        break;
      } else if (errno != ECONNABORTED && errno != EINTR) {
        break;
      }
    }
    co_await asio::post(self->shared_.io, asio::use_awaitable);
  }
}

// Decides at once where it can, so that a refusal is cheap.
void Network::handle_connection(UniqueFd guest) {
  // Until it is relayed, closing the socket resets the connection, so the guest sees a refusal.
  reset_at_close(guest.get());
  sockaddr_storage meant{};
  socklen_t size = sizeof meant;
  if (::getsockname(guest.get(), reinterpret_cast<sockaddr*>(&meant), &size) != 0) return;
  const auto address = net::IpAddress::from(meant);
  if (!address) return;
  const std::uint16_t port =
      ntohs(meant.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(meant).sin_port
                                       : reinterpret_cast<const sockaddr_in6&>(meant).sin6_port);
  Target target{*address, port, names_->names_of(*address), std::nullopt, false};
  net::AtConnect decided = net::decide_at_connect(*rules_, target.address, port, target.names);
  if (!decided.verdict.allowed) return note_denied(target, std::move(decided.verdict.rule));
  if (auto why = local_address_refusal(target)) return note_denied(target, std::move(*why));
  if (auto why = limit_reached()) return note_denied(target, std::move(*why));
  asio::co_spawn(shared_.io,
                 admit(shared_from_this(), std::move(guest), std::move(target), std::move(decided)),
                 asio::detached);
}

// Services of this host trust connections from local addresses.
std::optional<std::string> Network::local_address_refusal(const Target& target) {
  const auto location = shared_.own_addresses.find(target.address);
  if (!location) {
    log::warn("the route of an address could not be looked up",
              {{"error", location.error().message()}});
    return "no answer";
  }
  if (*location == OwnAddresses::Location::kElsewhere) return std::nullopt;
  const auto& opened = ceiling().opened;
  const bool is_opened = std::any_of(opened.begin(), opened.end(), [&](const net::Cidr& range) {
    return range.contains(target.address);
  });
  // The administrator's package index may be on this host.
  if (!is_opened && !ceiling().any_address) return "reserved: this host";
  if (target.port == shared_.server_port) return "reserved: the server's port";
  return std::nullopt;
}

bool Network::is_connection_budget_spent() const {
  return budgets_.connections && totals_.connections >= *budgets_.connections;
}

std::optional<std::string> Network::limit_reached() const {
  if (is_connection_budget_spent()) return "budget: connections";
  if (bytes_left() == 0) return "budget: bytes_out";
  if (links_.size() + setting_up_ >= shared_.max_open) return "limit: open connections";
  if (is_gateway_full()) return "limit: open connections of all sandboxes";
  return std::nullopt;
}

// The last quarter is reserved for sandboxes that have few connections.
bool Network::is_gateway_full() const {
  const std::size_t all = shared_.max_open_of_all;
  const bool has_few = links_.size() + setting_up_ < kFewOpen;
  return shared_.relays.open() + *shared_.setting_up >= all - (has_few ? 0 : all / 4);
}

asio::awaitable<void> Network::admit(std::shared_ptr<Network> self, UniqueFd fd, Target target,
                                     net::AtConnect decided) {
  Setup setup(self);
  boost::system::error_code error;
  const auto guest = std::make_shared<Socket>(self->shared_.io);
  guest->assign(fd.get(), error);
  if (error) co_return;
  (void)fd.release();
  setup.holds(guest);

  net::Verdict verdict = std::move(decided.verdict);
  if (decided.needs_server_name) {
    verdict = co_await self->decide_by_hello(guest, target, decided);
    if (!self->is_open()) co_return;
    if (!verdict.allowed) {
      self->note_denied(target, std::move(verdict.rule));
      co_return;
    }
    // Other connections were accepted while this one waited for its ClientHello.
    if (self->is_connection_budget_spent()) {
      self->note_denied(target, "budget: connections");
      co_return;
    }
  }
  if (!self->dials_.take(Clock::now())) {
    self->note_denied(target, "rate: connections");
    co_return;
  }
  ++self->totals_.connections;
  const auto dialling = std::make_shared<Socket>(self->shared_.io);
  setup.holds(dialling);
  co_await dial_and_relay(self, guest, dialling, std::move(target), std::move(verdict));
}

asio::awaitable<net::Verdict> Network::decide_by_hello(std::shared_ptr<Socket> guest,
                                                       Target& target, net::AtConnect decided) {
  net::HelloResult hello = co_await read_hello(guest, Clock::now() + kMayTakeToSayHello);
  target.hello_was_read = true;
  if (const auto* refused = std::get_if<net::HelloRefused>(&hello)) {
    if (decided.unnamed_too && refused->is_nameless) co_return decide_now(target);
    co_return net::Verdict{.allowed = false, .rule = "ClientHello: " + refused->why};
  }
  target.server_name = std::get<net::HelloName>(hello).name;
  if (!decided.unnamed_too) {
    net::Verdict confirmed =
        co_await SandboxNames::confirm(names_, *target.server_name, target.address);
    if (!confirmed.allowed) co_return confirmed;
  }
  co_return decide_now(target);
}

asio::awaitable<void> Network::dial_and_relay(std::shared_ptr<Network> self,
                                              std::shared_ptr<Socket> guest,
                                              std::shared_ptr<Socket> dialling, Target target,
                                              net::Verdict verdict) {
  const std::size_t most_waiting = receive_bytes(self->links_.size() + self->setting_up_ - 1);
  auto server = co_await dial(dialling, target.address, target.port, most_waiting,
                              Clock::now() + kMayTakeToConnect);
  if (!self->is_open() || !guest->is_open()) co_return;
  if (!server) {
    self->note(target, true, verdict.rule + "; not reached: " + reason(server.error()));
    co_return;
  }
  reset_at_close(server->get());
  // The policy may have changed meanwhile.
  verdict = self->decide_now(target);
  if (!verdict.allowed) {
    self->note_denied(target, std::move(verdict.rule));
    co_return;
  }
  const auto decision = self->note(target, true, std::move(verdict.rule));
  auto relay = self->shared_.relays.start(UniqueFd(guest->release()), std::move(*server), *self);
  if (!relay) {
    log::warn("a connection could not be relayed", {{"error", relay.error().message()}});
    co_return;
  }
  self->links_.emplace(*relay, Link{std::move(target), decision});
}

// By the current rules and everything that is known of the connection.
net::Verdict Network::decide_now(const Target& target) const {
  net::AtConnect decided =
      net::decide_at_connect(*rules_, target.address, target.port, target.names);
  if (!decided.verdict.allowed || !decided.needs_server_name) return std::move(decided.verdict);
  if (target.server_name) {
    return net::decide_named(*rules_, target.address, target.port, *target.server_name);
  }
  // It was admitted without a ClientHello, when no rule denied names: the names that DNS returned
  // the address for have to allow it.
  if (decided.unnamed_too && (target.hello_was_read || !target.names.empty())) {
    return std::move(decided.verdict);
  }
  return {.allowed = false, .rule = "no server name"};
}

void Network::note_denied(const Target& target, std::string rule) {
  ++totals_.denied;
  note(target, false, std::move(rule));
}

std::optional<DecisionLog::Index> Network::note(const Target& target, bool allowed,
                                                std::string rule) {
  wire::NetDecision decision;
  decision.what = wire::NetDecision::What::kConnect;
  decision.allowed = allowed;
  if (target.server_name) {
    decision.name = target.server_name->str();
  } else if (!target.names.empty()) {
    decision.name = target.names.front().str();
  }
  decision.address = target.address.text();
  decision.port = target.port;
  decision.rule = std::move(rule);
  return log_.note(std::move(decision), now_ms());
}

wire::NetTotals Network::totals() const {
  wire::NetTotals totals = totals_;
  totals.open = static_cast<std::uint32_t>(links_.size());
  if (names_) totals.names += names_->names();
  const auto spend = [&](wire::NetBudget budget) {
    totals.spent |= static_cast<std::uint8_t>(budget);
  };
  if (bytes_left() == 0) spend(wire::NetBudget::kBytesOut);
  if (is_connection_budget_spent()) spend(wire::NetBudget::kConnections);
  if (names_ && names_->is_spent()) spend(wire::NetBudget::kNames);
  return totals;
}

wire::NetworkReport Network::report(std::uint32_t seq) const {
  return {seq, id_, totals(), log_.decisions(), log_.left_out()};
}

std::uint64_t Network::bytes_left() const {
  if (!budgets_.bytes_out) return ~0ull;
  return *budgets_.bytes_out - std::min(*budgets_.bytes_out, totals_.bytes_out);
}

void Network::on_moved(RelayId id, std::uint64_t out, std::uint64_t in) {
  totals_.bytes_out += out;
  totals_.bytes_in += in;
  if (const auto link = links_.find(id); link != links_.end()) {
    log_.add_bytes(link->second.decision, out, in);
  }
}

void Network::on_relay_end(RelayId id, bool by_budget) {
  const auto link = links_.find(id);
  if (link == links_.end()) return;
  if (by_budget) note_denied(link->second.target, "budget: bytes_out");
  links_.erase(link);
}

}  // namespace glovebox::gateway
