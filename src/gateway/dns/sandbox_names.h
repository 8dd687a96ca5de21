// DNS policy of one sandbox: which names it may resolve, which addresses of an answer it gets, and
// which it got (its pins). Used by its DNS responder and by its connections, which check the server
// name of a ClientHello here. All its queries to the resolver go through this class.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/task.h"
#include "gateway/dns/hosts_file.h"
#include "gateway/dns/pins.h"
#include "gateway/dns/resolver.h"
#include "gateway/token_bucket.h"
#include "net/dns_message.h"
#include "net/net_policy.h"
#include "wire/gateway/gateway_messages.h"

namespace glovebox::gateway {

// The content of a DNS reply.
struct NameReply {
  net::DnsCode code = net::DnsCode::kServFail;
  std::vector<net::IpAddress> addresses = {};
  std::uint32_t ttl_s = 0;
  std::string why = {};  // for the extended error; empty if nothing is prohibited
};

struct SandboxNamesOptions {
  std::string tenant = {};
  HostsFile* hosts = nullptr;      // asked before the resolver; outlives this object
  std::uint64_t max_names = 1000;  // distinct ones in the sandbox's life
  std::uint32_t per_second = 50;   // queries of any kind
  std::uint32_t burst = 200;
  std::size_t max_open = 32;  // of them that wait for the resolver
};

class SandboxNames : public std::enable_shared_from_this<SandboxNames> {
 public:
  using Decided = std::function<void(wire::NetDecision)>;
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  // Few enough for the smallest reply, so that the sandbox never needs TCP for DNS.
  static constexpr std::size_t kMaxAddressesPerReply = 8;

  // The resolver outlives it. `decided` is called once per decision, with what, allowed, name,
  // address and rule; the log adds times and counts.
  static std::shared_ptr<SandboxNames> make(Resolver& resolver, SandboxNamesOptions options,
                                            std::shared_ptr<const net::NetRules> rules,
                                            Decided decided, Now now = {});

  // For queries from now on; pins stay and are judged by the new rules.
  void set_rules(std::shared_ptr<const net::NetRules> rules) { rules_ = std::move(rules); }
  void set_max_names(std::uint64_t most);
  // Nothing is decided or answered after this; `decided` is not called any more.
  void close();

  // Each datagram counts as one query, whatever it contains.
  enum class Rate : std::uint8_t {
    kWithin,
    kRefused,  // reply with a refusal
    kSilent,   // even refusals are too many: do not read for silence_time()
  };
  Rate take_question();
  std::chrono::nanoseconds silence_time() const;

  // The reply to a query beyond the rate.
  NameReply refuse_by_rate();
  // The reply if no query has to be sent; else nothing: call resolve_and_reply().
  std::optional<NameReply> reply_now(const net::DnsQuery& query);
  static asio::awaitable<NameReply> resolve_and_reply(std::shared_ptr<SandboxNames> self,
                                                      net::DnsQuery query);

  // The names for which the sandbox got this address, for net::decide_at_connect().
  std::vector<net::HostName> names_of(const net::IpAddress& address) const;
  // A ClientHello names `name` at `address`: allowed if the sandbox got that address for the name,
  // or the resolver returns it now. Otherwise `rule` is the reason: a rule, "rate: names", "budget:
  // names", "no answer", "not an address of this name". Without a pin this counts as a query and
  // perhaps as a name. net::decide_named() still has to be called.
  static asio::awaitable<net::Verdict> confirm(std::shared_ptr<SandboxNames> self,
                                               net::HostName name, net::IpAddress address);

  std::uint64_t names() const { return counted_.size(); }  // for NetTotals::names
  bool is_spent() const { return spent_; }                 // the budget, NetBudget::kNames

 private:
  struct Admission {
    net::Verdict verdict;
    net::DnsCode code = net::DnsCode::kNoError;  // if it is not allowed
  };
  SandboxNames(Resolver& resolver, SandboxNamesOptions options,
               std::shared_ptr<const net::NetRules> rules, Decided decided, Now now);
  Admission admit(const net::HostName& name);
  std::optional<NameAnswer> find_now(const net::HostName& name, net::DnsType type);
  NameReply reply_from(const net::HostName& name, net::DnsType type, const NameAnswer& answer);
  static NameReply refused(net::DnsCode code, std::string why);
  bool count(const net::HostName& name);
  void note(bool allowed, std::string name, std::string address, std::string rule);

  Resolver& resolver_;
  SandboxNamesOptions options_;
  std::shared_ptr<const net::NetRules> rules_;
  Decided decided_;
  Now now_;
  TokenBucket questions_;
  TokenBucket refusals_;
  Pins pins_;
  std::unordered_set<std::uint64_t> counted_;  // keyed hashes of names
  std::uint64_t salt_;
  std::size_t open_ = 0;
  bool spent_ = false;
  bool closed_ = false;
};

}  // namespace glovebox::gateway
