// The administrator's network settings: the ceiling that the server checks requests against and the
// gateway enforces, and the DNS servers of the gateway.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "net/net_policy.h"

namespace glovebox::config {

struct NameServer {
  net::IpAddress address;
  std::uint16_t port = 53;
  bool operator==(const NameServer&) const = default;
};

// kInvalidArgument names the wrong entry and the reason.
Result<std::vector<net::NetRule>> parse_net_rules(const std::vector<std::string>& words);
// Of reserved addresses.
Result<std::vector<net::Cidr>> parse_net_ranges(const std::vector<std::string>& words);
// "192.0.2.53", "192.0.2.53:5353", "2001:db8::53", "[2001:db8::53]:5353".
Result<std::vector<NameServer>> parse_name_servers(const std::vector<std::string>& words);

// Never fails with settings from load(). Its budgets are the maximum and the default of a sandbox;
// a missing budget has no limit.
Result<net::NetCeiling> net_ceiling(const Settings& settings);

}  // namespace glovebox::config
