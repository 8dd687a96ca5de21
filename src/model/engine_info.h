// What each engine can do for a client of a server, whatever the host. What a sandbox of it really
// had is in its walls.
#pragma once

#include <span>
#include <string_view>

#include "model/wall.h"

namespace glovebox {

struct EngineInfo {
  EngineKind kind = EngineKind::kJail;
  std::string_view description;
  // Why no server may use it; empty: servers may.
  std::string_view not_for_servers{};
  bool sessions = false;
  bool warm = false;  // sandboxes wait in pools, interpreters are forked
  bool mounts = false;
  bool network = false;  // per-sandbox policies
  bool packages = false;
  bool snapshots = false;
  bool terminal = false;
};

// Strongest first.
std::span<const EngineInfo> all_engines();
const EngineInfo& engine_info(EngineKind kind);

}  // namespace glovebox
