// E2B's rules of what a sandbox may reach, translated into a network policy. Their default is the
// whole internet; on this server that is as much of it as the administrator allows.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/net_policy.h"
#include "wire/json/object_reader.h"

namespace glovebox::e2b {

struct EgressRequest {
  bool internet = true;  // allow_internet_access
  std::vector<net::NetRule> allow{};
  std::vector<net::NetRule> deny{};
  // No rule is given: then a host that can give no network is no reason to refuse.
  bool is_default() const { return internet && allow.empty() && deny.empty(); }
};

// Whether a field is there and not empty.
bool is_given(const boost::json::value* value);

// Reads allowOut and denyOut of `fields`; refuses the rules that are not supported.
Result<> read_egress(wire::ObjectReader& fields, EgressRequest& wanted);
// The body of PUT /sandboxes/{id}/network. It replaces all rules: omitted ones are cleared.
Result<EgressRequest> parse_egress(std::string_view body);

// allowOut wins over denyOut. To deny 0.0.0.0/0 is to deny everything, IPv6 and names too.
net::NetPolicy policy_of(const EgressRequest& wanted, const net::NetCeiling& ceiling);
// {"allowOut":[...],"denyOut":[...]} of a sandbox's policy.
boost::json::object egress_json(const net::NetPolicy& policy);

}  // namespace glovebox::e2b
