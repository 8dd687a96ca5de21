// The ids, bodies and file names of /workspace/se, parsed once and strictly. Whether a session
// exists is not looked at here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialects/workspace/settings.h"
#include "sessions/session_request.h"

namespace glovebox::workspace {

inline constexpr std::size_t kMaxSessionId = 128;
// In a session's metadata: how long its code may run, if the client set that at its creation.
inline constexpr std::string_view kTimeoutKey = "workspace.timeout_ms";

// The client's own id as a session's agent_id. It is data: any printable text of 1 to 128 bytes.
Result<std::string> agent_of(std::string_view session_id);
// The other way; nothing: the session was not created by this dialect.
std::optional<std::string> session_of_agent(std::string_view agent_id);

// Everything but agent_id, which comes from the path. An empty body is one without fields.
Result<sessions::CreateRequest> parse_create(std::string_view body, const Settings& settings);

struct CodeRequest {
  std::string code;
  bool shell = false;  // script_type
  std::vector<std::string> args{};
  std::optional<std::string> stdin_text{};
  std::optional<std::chrono::milliseconds> timeout{};
  // Names of variables to return. If present, even empty, the answer has no `result`: the client
  // takes an answer with one for an envelope of its own.
  std::optional<std::vector<std::string>> output_params{};
};
// `max_timeout` is the longest timeout that may be asked for.
Result<CodeRequest> parse_code(std::string_view body, std::chrono::milliseconds max_timeout);

// As the body of POST /v1/sandboxes/{id}/exec.
Result<std::string> translate_command(std::string_view body, std::chrono::milliseconds max_timeout,
                                      std::chrono::milliseconds default_timeout);
// The same for code that is a shell script.
std::string translate_script(const CodeRequest& request, std::chrono::milliseconds default_timeout);

// The client's file name as a path in the guest: below /home/user. kInvalidArgument when it would
// lead out of there by itself; symbolic links are resolved in the guest, as everywhere.
Result<std::string> path_of(std::string_view name);

}  // namespace glovebox::workspace
