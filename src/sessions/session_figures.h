// Counters of sessions for /metrics. They contain no ids and no projects.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace glovebox::sessions {

// Why a session ended.
enum class EndCause : std::uint8_t {
  kAsked,  // by a request
  kTtl,    // its time to live expired
  kPausedTooLong,
  kPausedCeiling,  // it expired and could not be paused: too many sessions were paused
  kCancelled,      // the client disconnected during its creation
  kFailed,         // its creation failed
  kAgentLost,      // its own first process ended
  kLauncherLost,
  kGone,  // the node no longer has it
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
  std::uint64_t created = 0;  // since the server started, like the following counters
  std::uint64_t refused = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(EndCause::kCount)> ended{};
};

}  // namespace glovebox::sessions
