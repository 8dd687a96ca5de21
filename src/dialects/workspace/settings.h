// What the administrator sets for /workspace/se (SANDBOX_... in the server's environment), with the
// defaults that users of this protocol know; the rest is the template's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/limits.h"
#include "net/net_policy.h"
#include "node/pools/session_pools.h"

namespace glovebox::workspace {

inline constexpr std::string_view kDefaultTemplate = "python";
// Where the administrator sets none. Within the launcher's ceilings, and not refused on a host that
// cannot enforce them.
inline constexpr LimitDefaults kDefaultLimits{.memory_bytes = 128ull << 20,
                                              .cpu_thousandths = 2000};

struct Settings {
  std::optional<std::uint32_t> cpu_thousandths{};
  std::optional<std::uint64_t> memory_bytes{};
  bool allow_network = false;
  net::NetPolicy reach{};  // of a sandbox with network: everything that the ceiling allows
  // Of code and commands; also the most they may ask for.
  std::chrono::milliseconds timeout{300'000};
  std::uint32_t pool_size = 0;  // sessions of the default template and limits that wait
};

// The sessions that wait: for the project that keys have by default always, for another one from
// its first session on, as its demand grows.
std::vector<node::SessionPoolRequest> waiting_sessions(const Settings& settings);

}  // namespace glovebox::workspace
