// The bodies of /api/v1, parsed once and strictly; and a handler's code as a cell for a Python
// context.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sessions/session_request.h"

namespace glovebox::sessions_api {

enum class Mode : std::uint8_t { kEphemeral, kPersistent };
std::string_view mode_name(Mode mode);

// In a session's metadata. A session without them was created by another API and is persistent.
inline constexpr std::string_view kModeKey = "sessions.mode";
inline constexpr std::string_view kAgentKey = "sessions.agent_id";  // of an ephemeral one
inline constexpr std::string_view kDefaultTemplate = "python";

Mode mode_of(const store::SessionRecord& record);
std::string agent_of(const store::SessionRecord& record);  // as the client gave it

// An ephemeral session has its agent in the metadata: only persistent ones are found by it again.
// If the template is empty, the caller fills it in.
Result<sessions::CreateRequest> parse_session(std::string_view body);

struct ExecuteRequest {
  std::string code;
  std::string event;  // JSON
  std::chrono::seconds timeout{300};
};
Result<ExecuteRequest> parse_execute(std::string_view body);

inline constexpr std::size_t kMaxResult = 1u << 20;

// What the handler's `context` has.
struct HandlerContext {
  std::string execution_id;
  std::string session_id;
  std::uint64_t memory_mb = 0;
  std::chrono::seconds timeout{0};
};
// A cell whose value is the handler's return value, as JSON text.
std::string handler_cell(const ExecuteRequest& request, const HandlerContext& about);

}  // namespace glovebox::sessions_api
