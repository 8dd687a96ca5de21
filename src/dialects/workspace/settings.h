// What the administrator says of /workspace/se (SANDBOX_... in the server's environment); the rest
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
  net::NetPolicy reach{};  // of a sandbox, if it is allowed: all that the ceiling lets it
  std::chrono::milliseconds timeout{
      300'000};  // of code and commands; also the most they may ask for
};

}  // namespace glovebox::workspace
