// What the administrator says of sandboxes' networks, made of the settings' words: the ceiling that
// the server compares requests with and the gateway enforces, and whom the gateway asks for names.
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

// kInvalidArgument, with the word that is wrong and why.
Result<std::vector<net::NetRule>> parse_net_rules(const std::vector<std::string>& words);
// Of reserved addresses.
Result<std::vector<net::Cidr>> parse_net_ranges(const std::vector<std::string>& words);
// "192.0.2.53", "192.0.2.53:5353", "2001:db8::53", "[2001:db8::53]:5353".
Result<std::vector<NameServer>> parse_name_servers(const std::vector<std::string>& words);

// Settings that load() gave have no errors here. Its budgets are the largest that may be asked for,
// and what a sandbox has if nobody asks; a budget that is not there has no bound.
Result<net::NetCeiling> net_ceiling(const Settings& settings);

}  // namespace glovebox::config
