// What E2B's clients say of a sandbox's way out, and what it means here. Their default is the whole
// internet; here that is as much of it as the administrator allows.
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
  // Nothing at all is said: a host that can give no network is no reason to refuse.
  bool is_default() const { return internet && allow.empty() && deny.empty(); }
};

// A field that is there and not empty.
bool is_given(const boost::json::value* value);

// allowOut and denyOut of `fields`; what it has besides and cannot be done here is refused.
Result<> read_egress(wire::ObjectReader& fields, EgressRequest& wanted);
// The body of PUT /sandboxes/{id}/network: all of it, and what is left out is cleared.
Result<EgressRequest> parse_egress(std::string_view body);

// allowOut wins over denyOut. To deny 0.0.0.0/0 is to deny everything, IPv6 and names too.
net::NetPolicy policy_of(const EgressRequest& wanted, const net::NetCeiling& ceiling);
// {"allowOut":[...],"denyOut":[...]} of a policy that a sandbox has.
boost::json::object egress_json(const net::NetPolicy& policy);

}  // namespace glovebox::e2b
