// Bounds and defaults of persistent sandboxes, as the administrator set them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "model/wall.h"
#include "net/net_policy.h"
#include "sessions/session_plan.h"

namespace glovebox::sessions {

struct SessionOptions {
  std::uint64_t max_sessions = 2048;
  std::uint64_t project_share_percent = 100;  // the part of max_sessions that one project may have
  std::uint64_t default_ttl_s = 3600;
  std::uint64_t max_ttl_s = 86'400;
  std::uint64_t max_paused = 32;  // per project
  std::chrono::milliseconds paused_max{86'400'000};
  EngineKind engine = EngineKind::kJail;
  std::optional<Grade> min_grade{};  // the administrator's floor
  net::NetCeiling ceiling{};         // what the administrator lets sandboxes reach
  std::chrono::milliseconds tick{250};
  std::chrono::milliseconds reconcile_every{3'000};
  std::chrono::milliseconds sample_every{10'000};
  // How long a sandbox may exist without a record: one that is being created has none yet.
  std::chrono::milliseconds orphan_age{2'000};
  std::function<std::optional<std::uint64_t>()> available_memory = &sessions::available_memory;
};

}  // namespace glovebox::sessions
