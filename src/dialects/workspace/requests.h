// The ids, bodies and file names of /workspace/se, parsed once and strictly. Nothing here knows of
// sessions that exist.
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
// In a session's metadata: how long its code may run, when the client said so at its creation.
inline constexpr std::string_view kTimeoutKey = "workspace.timeout_ms";
inline constexpr std::string_view kDefaultTemplate = "python";

// The client's own id as a session's agent_id. It is data: any printable text of 1 to 128 bytes.
Result<std::string> agent_of(std::string_view session_id);
// The other way; nothing: this session was not made here.
std::optional<std::string> session_of_agent(std::string_view agent_id);

// All but agent_id, which is the path's. An empty body says nothing.
Result<sessions::CreateRequest> parse_create(std::string_view body, const Settings& settings);

struct CodeRequest {
  std::string code;
  bool shell = false;  // script_type
  std::vector<std::string> args{};
  std::optional<std::string> stdin_text{};
  std::optional<std::chrono::milliseconds> timeout{};
  // Names of variables to give back. There, even empty: the client takes an answer that has a
  // `result` for an envelope of its own, so it gets none.
  std::optional<std::vector<std::string>> output_params{};
};
// `most` is what a timeout may be.
Result<CodeRequest> parse_code(std::string_view body, std::chrono::milliseconds most);

// As the body of POST /v1/sandboxes/{id}/exec. `otherwise` is the timeout when it has none.
Result<std::string> translate_command(std::string_view body, std::chrono::milliseconds most,
                                      std::chrono::milliseconds otherwise);
// The same for code that is a shell script.
std::string translate_script(const CodeRequest& request, std::chrono::milliseconds otherwise);

// A name of the client's as a path of the guest's: below /home/user. kInvalidArgument when it
// would lead out of there by itself; what links inside do is the guest's affair.
Result<std::string> path_of(std::string_view name);

}  // namespace glovebox::workspace
