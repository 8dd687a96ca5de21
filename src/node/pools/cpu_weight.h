// How the runs of all owners share the CPUs when all of them are wanted.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/launcher/launcher_messages.h"

namespace glovebox::node {

// The weight of an owner's nth sandbox. Runs wait in one pool, so no cgroup of their owner holds
// them together; instead each further one weighs less. All of an owner's runs together weigh about
// ln(n) + 0.6 times as much as the first: 64 of them 4.7 times, and not 64 times.
inline std::uint16_t cpu_weight_of(std::uint32_t nth) {
  constexpr std::uint32_t kLeast = 8;
  const std::uint32_t weight = wire::kFullCpuWeight / std::max(1u, nth);
  return static_cast<std::uint16_t>(std::max(kLeast, weight));
}

}  // namespace glovebox::node
