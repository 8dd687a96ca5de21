// What is fixed before a sandbox is taken from its pool, and nothing else: limits, env, files,
// timeouts, mounts and network of a run are applied at the take, so they never push a call off the
// warm path. A field added here splits every pool; think twice.
//
// A session that waits is made for one project, because the launcher bounds all sessions of a
// project together, and with its limits: both are part of its key, and empty in that of a run.
#pragma once

#include <compare>
#include <string>

#include "model/wall.h"

namespace glovebox {

struct PoolKey {
  std::string template_name;
  EngineKind engine = EngineKind::kJail;
  std::string project{};
  std::string session_limits{};  // as session_limits_text() writes them
  bool is_of_sessions() const { return !session_limits.empty(); }
  auto operator<=>(const PoolKey&) const = default;
};

}  // namespace glovebox
