// A network policy as JSON: "none", "https-only", "all", or an object with lists of rules. As a
// profile has it, as PATCH and GET of a sandbox have it, and as the store keeps it.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/net_policy.h"

namespace glovebox::wire {

// The largest budget that a request may set: what a double can still represent exactly.
inline constexpr std::uint64_t kMaxNetBudget = 1ull << 53;

// A mistake names its place: "profile.net.allow[3]: ...".
Result<net::NetPolicy> read_net_policy(const boost::json::value& value, const std::string& path);

// The canonical form; read_net_policy() reads it.
boost::json::value net_policy_json(const net::NetPolicy& policy);

}  // namespace glovebox::wire
