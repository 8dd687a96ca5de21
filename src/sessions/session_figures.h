// How many sessions there are and were, for /metrics. No ids and no projects in here.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace glovebox::sessions {

// Why a session ended.
enum class EndCause : std::uint8_t {
  kAsked,  // by a request
  kTtl,    // its time to live ended
  kPausedTooLong,
  kPausedCeiling,  // it was to be paused when it expired, but too many were
  kCancelled,      // the client gave up during its creation
  kFailed,         // its creation failed
  kAgentLost,      // its own first process ended
  kLauncherLost,
  kGone,  // the node does not have it any more
  kCount,
};
inline constexpr std::array<std::string_view, static_cast<std::size_t>(EndCause::kCount)>
    kEndCauseNames = {"asked",          "ttl",           "paused_too_long",
                      "paused_ceiling", "cancelled",     "failed",
                      "agent_lost",     "launcher_lost", "gone"};

struct SessionFigures {
  std::uint64_t pending = 0;
  std::uint64_t starting = 0;
  std::uint64_t running = 0;
  std::uint64_t paused = 0;
  std::uint64_t created = 0;  // since the start, as the rest
  std::uint64_t refused = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(EndCause::kCount)> ended{};
};

}  // namespace glovebox::sessions
