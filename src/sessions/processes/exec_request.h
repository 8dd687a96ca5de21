// A request to start a process in a session: the body of POST …/exec and the first message of its
// stream. Parsed once, strictly.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/sandbox_spec.h"
#include "node/sessions/session_service.h"
#include "wire/json/object_reader.h"

namespace glovebox::sessions {

struct ExecRequest {
  // Exactly one of argv and cmd is set. A request's `cmd` with `args` is an argv, too.
  std::vector<std::string> argv;
  std::string cmd;  // for a shell
  std::string cwd;
  std::vector<std::string> env;
  std::string user = "user";
  bool has_cwd = false;  // the request says them; else an image's sandbox has its own defaults
  bool has_user = false;
  std::optional<std::string> stdin_bytes;
  std::optional<std::chrono::milliseconds> timeout;  // none: the route's default; 0: no limit
  bool background = false;
  std::optional<TerminalSize> terminal;
  std::uint64_t output_bytes = 1024 * 1024;  // kept of both streams together
};

inline constexpr std::uint64_t kMaxTimeoutMs = 24ull * 3600 * 1000;

Result<ExecRequest> parse_exec_request(std::string_view body);
// Reads the same fields from a larger object; the caller calls finish().
Result<ExecRequest> read_exec_request(wire::ObjectReader& fields);

enum class Shell : bool { kBash, kSh };
// `environment` is the session's.
node::ProcessSpec process_spec(const ExecRequest& request, std::vector<std::string> environment,
                               Shell shell);

Result<TerminalSize> read_terminal_size(wire::ObjectReader& fields);

}  // namespace glovebox::sessions
