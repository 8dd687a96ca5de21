// What is fixed before a sandbox is taken from its pool, and nothing else: limits, env, files,
// timeouts, mounts and network are applied at the take, so they never push a call off the warm
// path. A field added here splits every pool; think twice.
#pragma once

#include <compare>
#include <string>

#include "model/wall.h"

namespace glovebox {

struct PoolKey {
  std::string template_name;
  EngineKind engine = EngineKind::kJail;
  auto operator<=>(const PoolKey&) const = default;
};

}  // namespace glovebox
