// The states of a session, and which state may follow which. One table, for the server's answers
// and for its store.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace glovebox {

enum class SessionState : std::uint8_t {
  kPending = 1,  // asked for, and not begun
  kStarting,
  kRunning,
  kPaused,
  kStopped,  // ended on request, or at the end of its lifetime
  kError,    // ended otherwise; the record has the reason
};

enum class OnTimeout : std::uint8_t {
  kKill = 1,
  kPause,
  kPauseFiles,  // pause, and keep only the files: its processes end
};

std::string_view session_state_name(SessionState state);  // "running"
std::optional<SessionState> parse_session_state(std::string_view name);
bool is_over(SessionState state);
bool may_become(SessionState from, SessionState to);

}  // namespace glovebox
