// What the administrator sets for /workspace/se (SANDBOX_... in the server's environment); the rest
// is the template's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "net/net_policy.h"

namespace glovebox::workspace {

struct Settings {
  std::optional<std::uint32_t> cpu_thousandths{};
  std::optional<std::uint64_t> memory_bytes{};
  bool allow_network = false;
  net::NetPolicy reach{};  // of a sandbox with network: everything that the ceiling allows
  // Of code and commands; also the most they may ask for.
  std::chrono::milliseconds timeout{300'000};
};

}  // namespace glovebox::workspace
