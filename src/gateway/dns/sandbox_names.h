// The names of one sandbox: whether it may ask for one, what of an answer it may hear, and what it
// was told (its pins). Its door for questions (dns_door.h) and its relays, which ask for a name
// that a ClientHello says, come here; nobody else asks the resolver for it.
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
#include "gateway/pins.h"
#include "gateway/dns/resolver.h"
#include "gateway/relay/token_bucket.h"
#include "net/dns_message.h"
#include "net/net_policy.h"
#include "wire/gateway_messages.h"

namespace glovebox::gateway {

// What a door answers.
struct NameReply {
  net::DnsCode code = net::DnsCode::kServFail;
  std::vector<net::IpAddress> addresses = {};
  std::uint32_t ttl_s = 0;
  std::string why = {};  // for the extended error; empty if nothing is prohibited
};

struct SandboxNamesOptions {
  std::string tenant = {};
  HostsFile* hosts = nullptr;      // asked before the resolver; outlives it
  std::uint64_t max_names = 1000;  // distinct ones in its life
  std::uint32_t per_second = 50;   // questions of any kind
  std::uint32_t burst = 200;
  std::size_t max_open = 32;  // of them that wait for the resolver
};

class SandboxNames : public std::enable_shared_from_this<SandboxNames> {
 public:
  using Decided = std::function<void(wire::NetDecision)>;
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  // So few that they fit the smallest answer: a sandbox has no use for TCP to its resolver.
  static constexpr std::size_t kMaxTold = 8;

  // The resolver outlives it. `decided` is called with what, allowed, name, address and rule, once
  // per decision; times, counts and merging are the log's.
  static std::shared_ptr<SandboxNames> make(Resolver& resolver, SandboxNamesOptions options,
                                            std::shared_ptr<const net::NetRules> rules,
                                            Decided decided, Now now = {});

  // For questions from now on; what was told stays told, and counts by the new rules.
  void set_rules(std::shared_ptr<const net::NetRules> rules) { rules_ = std::move(rules); }
  void set_max_names(std::uint64_t most);
  // Nothing is decided or told after this; `decided` is not called any more.
  void close();

  // Each datagram costs one question, whatever is in it.
  enum class Rate : std::uint8_t {
    kWithin,
    kRefused,  // say so
    kSilent,   // even a refusal would be too much: look away for rest()
  };
  Rate take_question();
  std::chrono::nanoseconds rest() const;

  // What is answered to a question beyond the rate.
  NameReply refuse_by_rate();
  // Answered at once where nobody need be asked: else nothing, and it is for reply_later().
  std::optional<NameReply> reply_now(const net::DnsQuery& query);
  static asio::awaitable<NameReply> reply_later(std::shared_ptr<SandboxNames> self,
                                                net::DnsQuery query);

  // Those that this address was told for, for net::decide_at_connect().
  std::vector<net::HostName> names_of(const net::IpAddress& address) const;
  // A ClientHello says `name` at `address`: allowed if this sandbox was told that address for it,
  // or the resolver, asked now, says it too. Otherwise `rule` is why not: a rule, "rate: names",
  // "budget: names", "no answer", "not an address of this name". Costs a question and perhaps a
  // name if it was not told. net::decide_named() is still to be asked.
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
  NameReply told(const net::HostName& name, net::DnsType type, const NameAnswer& answer);
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
