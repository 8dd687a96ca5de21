// `--net` and `--net-deny` of a command line as a network policy: "none", "https-only", "all",
// rules (an allow list) or both, separated by commas or repeated; or one policy in JSON, as in a
// profile.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "net/net_policy.h"

namespace glovebox::wire {

// `net` empty: the option was not given, which means none.
Result<net::NetPolicy> parse_network_options(const std::vector<std::string>& net,
                                             const std::vector<std::string>& deny);

}  // namespace glovebox::wire
