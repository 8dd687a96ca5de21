// The gateway's resolver: asks the cache, then the host's resolvers, with one query at a time for
// each name of a tenant. Returns their answers unfiltered: sandbox_names.h decides what of it a
// sandbox gets. One for the whole gateway.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/task.h"
#include "gateway/dns/dns_upstream.h"
#include "gateway/dns/name_cache.h"
#include "gateway/dns/resolv_conf.h"

namespace glovebox::gateway {

struct ResolverOptions {
  std::vector<DnsServer> servers = {};  // none: those of resolv_conf
  std::string resolv_conf = "/etc/resolv.conf";
  // Queries under way; more get no answer. A quarter of upstream.max_open is reserved for tenants
  // with few queries.
  std::size_t max_open_of_tenant = 128;
  UpstreamOptions upstream = {};
  NameCacheOptions cache = {};
  // Whether AAAA queries are sent. Null: host_has_ipv6(), checked every few seconds.
  std::function<bool()> has_ipv6 = nullptr;
};

// Whether this network namespace has a route to the IPv6 internet. Sends nothing.
bool host_has_ipv6();

class Resolver {
 public:
  Resolver(asio::io_context& io, ResolverOptions options);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Never fails: NameAnswer::State::kNoAnswer is the failure.
  asio::awaitable<NameAnswer> find(std::string tenant, net::HostName name, net::DnsType type);
  // The answer that find() would return without sending a query, if there is one.
  std::optional<NameAnswer> find_now(const std::string& tenant, const net::HostName& name,
                                     net::DnsType type);

 private:
  struct State;  // shared with the tasks that are under way
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::gateway
