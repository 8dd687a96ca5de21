// The gateway's resolver: cache, then the host's resolvers, one question at a time for each name of
// a tenant whoever asks. Says what they say: what of it a sandbox may hear is decided in
// sandbox_names.h. One for the whole gateway.
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
  // Questions under way; more are no answer. A quarter of upstream.max_open is for tenants that
  // have only a few of them.
  std::size_t max_open_of_tenant = 128;
  UpstreamOptions upstream = {};
  NameCacheOptions cache = {};
  // Whether AAAA is asked for at all. Nothing: host_has_ipv6(), looked at every few seconds.
  std::function<bool()> has_ipv6 = nullptr;
};

// A packet to the IPv6 internet has a way out of this network namespace. Nothing is sent.
bool host_has_ipv6();

class Resolver {
 public:
  Resolver(asio::io_context& io, ResolverOptions options);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Never fails: NameAnswer::State::kNoAnswer is the failure.
  asio::awaitable<NameAnswer> find(std::string tenant, net::HostName name, net::DnsType type);
  // What find() would say without asking anybody.
  std::optional<NameAnswer> find_now(const std::string& tenant, const net::HostName& name,
                                     net::DnsType type);

 private:
  struct State;  // shared with the tasks that are under way
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::gateway
