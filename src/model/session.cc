#include "model/session.h"

#include <array>
#include <utility>

namespace glovebox {
namespace {

constexpr std::array<std::pair<SessionState, std::string_view>, 6> kNames = {{
    {SessionState::kPending, "pending"},
    {SessionState::kStarting, "starting"},
    {SessionState::kRunning, "running"},
    {SessionState::kPaused, "paused"},
    {SessionState::kStopped, "stopped"},
    {SessionState::kError, "error"},
}};

}  // namespace

std::string_view session_state_name(SessionState state) {
  for (const auto& [value, name] : kNames) {
    if (value == state) return name;
  }
  return "error";
}

std::optional<SessionState> parse_session_state(std::string_view name) {
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

bool is_over(SessionState state) {
  return state == SessionState::kStopped || state == SessionState::kError;
}

bool may_become(SessionState from, SessionState to) {
  if (is_over(from)) return false;  // for good
  if (is_over(to)) return true;     // anything may end at any time
  switch (from) {
    case SessionState::kPending:
      return to == SessionState::kStarting;
    case SessionState::kStarting:
    case SessionState::kPaused:
      return to == SessionState::kRunning;
    case SessionState::kRunning:
      return to == SessionState::kPaused;
    case SessionState::kStopped:
    case SessionState::kError:
      break;
  }
  return false;
}

}  // namespace glovebox
