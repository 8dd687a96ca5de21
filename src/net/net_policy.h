// What a sandbox may reach, and the one place that decides it. A policy is data: the server reads
// it from a request and compares it with the administrator's ceiling, the gateway decides by it.
//
// A connection is allowed if the policy allows it, the ceiling allows it, and its address is of the
// public internet or in a range that the administrator has opened. A name in a rule counts for an
// address if the gateway's own resolver gave that address for that name to this sandbox; at port
// 443 the client must say such a name in its TLS ClientHello as well.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/host_name.h"
#include "net/net_rule.h"

namespace glovebox::net {

inline constexpr std::size_t kMaxRules = 256;  // in each list
inline constexpr std::uint16_t kHttpsPort = 443;

// What applies where no list matches.
enum class NetBase : std::uint8_t {
  kNone = 0,
  kHttpsOnly = 1,  // port 443, with a ClientHello whose name is known
  kAll = 2,        // any TCP, and names
};
std::string_view base_name(NetBase base);  // "none", "https-only", "all"
std::optional<NetBase> parse_base(std::string_view name);

// For one sandbox's whole life. Nothing: the administrator's.
struct NetBudgets {
  std::optional<std::uint64_t> bytes_out;
  std::optional<std::uint64_t> connections;  // allowed ones
  std::optional<std::uint64_t> names;        // distinct ones that were resolved
  bool operator==(const NetBudgets&) const = default;
};

struct NetPolicy {
  NetBase base = NetBase::kNone;
  std::vector<NetRule> allow = {};
  std::vector<NetRule> deny = {};
  // Which list wins where both match; some clients expect `allow`.
  bool allow_wins = false;
  NetBudgets budgets = {};

  // Nothing can be reached: a sandbox with it needs no network at all.
  bool is_none() const { return base == NetBase::kNone && allow.empty(); }
  bool operator==(const NetPolicy&) const = default;
};

// JSON with sorted keys and no spaces: "none", "https-only", "all" where that is all there is to
// say, else {"allow":[...],"base":...,"budgets":{...},"deny":[...],"precedence":"allow"} with only
// what differs from a default; rules in canonical spelling, sorted, each once. A policy that allows
// nothing is "none", whatever it denies.
std::string canonical_text(const NetPolicy& policy);

// What the administrator allows at most.
struct NetCeiling {
  NetPolicy policy{.base = NetBase::kAll};
  std::vector<Cidr> opened;  // reserved ranges that count as public
  // What `policy` allows may be at any assigned address: a package index is often a
  // private mirror. What never_assigned() names in address.h stays reserved.
  bool any_address = false;
};

// kPolicy, with what is asked for too much. A budget that the ceiling does not have is not bounded.
// What the ceiling denies inside something that it allows is no error: the gateway denies it.
Result<> check_within(const NetPolicy& asked, const NetCeiling& ceiling);

struct Verdict {
  bool allowed = false;
  // Which rule, for a person: "allow *.example.com:443", "deny 1.2.3.4/32", "base https-only",
  // "reserved: loopback", "ceiling: deny evil.example", "not in the policy".
  std::string rule;
  bool operator==(const Verdict&) const = default;
};

struct NetRules {
  NetPolicy policy;
  NetCeiling ceiling;
};

// Whether a name may be resolved: some connection to it could be allowed.
Verdict may_resolve(const NetRules& rules, const HostName& name);
// Whether a guest may get an address that a name resolved to: it is public, opened, or the ceiling
// allows any.
Verdict may_be_at(const NetRules& rules, const IpAddress& address);

// At connect, before a byte of the client's. `names`: those that the resolver gave this address
// for. If `needs_server_name`, the verdict is only that a name could be right: the client's
// ClientHello must be read and decide_named() asked before anything is dialled.
struct AtConnect {
  Verdict verdict;
  bool needs_server_name = false;
  // With needs_server_name: if the client sends a name, the name decides, whether or not it is
  // known to be at this address; a connection without a name (not TLS, or a hello without one) is
  // allowed. This is so where an address or "all" is allowed and only some names are denied.
  bool unnamed_too = false;
};
AtConnect decide_at_connect(const NetRules& rules, const IpAddress& address, std::uint16_t port,
                            std::span<const HostName> names);
// The client says `server_name` to `address`, and the resolver has given that address for it.
Verdict decide_named(const NetRules& rules, const IpAddress& address, std::uint16_t port,
                     const HostName& server_name);

}  // namespace glovebox::net
