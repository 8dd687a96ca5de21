#include "gateway/dns/resolver.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "base/unique_fd.h"

namespace glovebox::gateway {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kIpv6CheckInterval{5};
constexpr std::size_t kFew = 8;

using Key = std::tuple<std::string, net::HostName, net::DnsType>;

// A query under way, and the tasks that wait for it.
struct Pending {
  explicit Pending(asio::io_context& io) : done(io, Clock::time_point::max()) {}
  asio::steady_timer done;  // never expires: cancelled when there is an answer
  std::optional<NameAnswer> answer;
};

NameAnswer made_of(net::DnsAnswer answer) {
  using State = NameAnswer::State;
  NameAnswer made{.state = State::kNoAddress,
                  .addresses = std::move(answer.addresses),
                  .aliases = std::move(answer.aliases),
                  .ttl = std::chrono::seconds(answer.ttl_s)};
  if (answer.code == net::DnsCode::kNxDomain) made.state = State::kNoName;
  if (!made.addresses.empty()) made.state = State::kFound;
  return made;
}

}  // namespace

struct Resolver::State {
  State(asio::io_context& one, ResolverOptions given)
      : io(one),
        options(std::move(given)),
        resolv_conf(options.resolv_conf),
        upstream(io, options.upstream),
        cache(options.cache) {}

  asio::io_context& io;
  ResolverOptions options;
  ResolvConf resolv_conf;
  DnsUpstream upstream;
  NameCache cache;
  std::map<Key, std::shared_ptr<Pending>> pending;
  std::map<std::string, std::size_t> open_of_tenant;
  std::optional<Clock::time_point> ipv6_checked_at;
  bool ipv6 = false;

  bool has_ipv6(Clock::time_point now) {
    if (options.has_ipv6) return options.has_ipv6();
    if (!ipv6_checked_at || now - *ipv6_checked_at >= kIpv6CheckInterval) {
      ipv6_checked_at = now;
      ipv6 = host_has_ipv6();
    }
    return ipv6;
  }

  bool has_room_for(const std::string& tenant) const {
    const auto open = open_of_tenant.find(tenant);
    const std::size_t has = open == open_of_tenant.end() ? 0 : open->second;
    const std::size_t all = options.upstream.max_open;
    return has < options.max_open_of_tenant && pending.size() < (has < kFew ? all : all - all / 4);
  }

  std::optional<NameAnswer> find_now(const std::string& tenant, const net::HostName& name,
                                     net::DnsType type) {
    const Clock::time_point now = Clock::now();
    if (type == net::DnsType::kAaaa && !has_ipv6(now)) {
      return NameAnswer{.state = NameAnswer::State::kNoAddress,
                        .addresses = {},
                        .aliases = {},
                        .ttl = options.cache.negative_ttl};
    }
    return cache.find(tenant, name, type, now);
  }

  // Tasks that ask for the same name wait for this query, and none of them can cancel it.
  static asio::awaitable<void> ask(std::shared_ptr<State> self, Key key,
                                   std::shared_ptr<Pending> pending) {
    const auto& [tenant, name, type] = key;
    std::vector<DnsServer> servers = self->options.servers;
    if (servers.empty()) servers = self->resolv_conf.servers(Clock::now());
    Result<net::DnsAnswer> answer = co_await self->upstream.ask(std::move(servers), name, type);
    if (!answer) log::debug("the resolvers gave no answer", {{"why", answer.error().message()}});
    NameAnswer made = answer ? made_of(std::move(*answer)) : NameAnswer{};
    pending->answer = self->cache.keep(tenant, name, type, std::move(made), Clock::now());
    if (--self->open_of_tenant[tenant] == 0) self->open_of_tenant.erase(tenant);
    self->pending.erase(key);
    pending->done.cancel();
  }

  static asio::awaitable<NameAnswer> find(std::shared_ptr<State> self, std::string tenant,
                                          net::HostName name, net::DnsType type) {
    if (auto known = self->find_now(tenant, name, type)) co_return std::move(*known);
    Key key(tenant, name, type);
    std::shared_ptr<Pending> pending;
    if (const auto under_way = self->pending.find(key); under_way != self->pending.end()) {
      pending = under_way->second;
    } else {
      if (!self->has_room_for(tenant)) co_return NameAnswer{};
      ++self->open_of_tenant[tenant];
      pending = std::make_shared<Pending>(self->io);
      self->pending.emplace(key, pending);
      asio::co_spawn(self->io, ask(self, std::move(key), pending), asio::detached);
    }
    while (!pending->answer) (void)co_await pending->done.async_wait(kAwaitTuple);
    co_return *pending->answer;
  }
};

bool host_has_ipv6() {
  // Connecting a datagram socket makes the kernel look up a route and sends nothing. The address is
  // that of a root server; any public one would do.
  const auto far = net::IpAddress::parse("2001:500:2::c");
  const UniqueFd fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || !far) return false;
  const sockaddr_storage address = far->to_sockaddr(53);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                   net::IpAddress::sockaddr_size(address)) == 0;
}

Resolver::Resolver(asio::io_context& io, ResolverOptions options)
    : state_(std::make_shared<State>(io, std::move(options))) {}

Resolver::~Resolver() = default;

asio::awaitable<NameAnswer> Resolver::find(std::string tenant, net::HostName name,
                                           net::DnsType type) {
  return State::find(state_, std::move(tenant), std::move(name), type);
}

std::optional<NameAnswer> Resolver::find_now(const std::string& tenant, const net::HostName& name,
                                             net::DnsType type) {
  return state_->find_now(tenant, name, type);
}

}  // namespace glovebox::gateway
