// The words of envd's process.Process: what a client asks for, parsed once, and what it is told.
// Fields that nobody knows are ignored, as the clients expect.
#pragma once

#include <boost/json/fwd.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialects/e2b/envd/connect.h"
#include "http/message.h"
#include "model/sandbox_spec.h"
#include "node/sessions/session_service.h"

namespace glovebox::e2b {

struct StartRequest {
  std::string cmd;
  std::vector<std::string> args;
  std::vector<std::string> envs;  // "NAME=value"
  std::string cwd;                // as it was sent
  std::string tag;
  std::optional<TerminalSize> terminal;
  bool has_stdin = true;
};
Result<StartRequest> read_start(const boost::json::value& message);

// Which process: by its pid inside, or by the tag that it was started with.
struct Selector {
  std::optional<std::uint32_t> pid;
  std::string tag;
};
Result<Selector> read_selector(const boost::json::value& message);
std::string not_found_message(const Selector& selector);

struct ProcessInput {
  std::string bytes;
  bool is_terminal = false;
};
// Of an object with the field "input".
Result<ProcessInput> read_input(const boost::json::value& message);
// SIGNAL_SIGTERM, SIGNAL_SIGKILL or their numbers; nothing: another one.
std::optional<int> read_signal(const boost::json::value& message);
Result<std::optional<TerminalSize>> read_terminal(const boost::json::value& message);

// Absolute; a relative one is below the user's home, and so is "~/...". "": the home, where only
// the guest knows which that is.
Result<std::string> directory_of(std::string_view cwd, std::string_view user);
// A name or a number that there may be; "user", when nobody is named.
std::optional<std::string> user_for(const http::Request& request);

// E2B_SANDBOX, E2B_SANDBOX_ID, E2B_TEMPLATE_ID.
std::vector<std::string> sandbox_variables(const node::Session& session);
// `environment` is the session's.
std::vector<std::string> command_environment(const node::Session& session, std::string_view user,
                                             std::vector<std::string> environment,
                                             const std::vector<std::string>& envs);

// Of a start that was refused.
Failure start_failure(const Error& error, std::string_view user, std::string_view cwd);

// Connect-Timeout-Ms; nothing: no limit.
std::optional<std::chrono::milliseconds> timeout_of(const http::Request& request);
std::chrono::milliseconds keepalive_of(const http::Request& request);

// Messages of a stream, as their JSON.
std::string start_event(std::uint32_t pid);
std::string data_event(std::string_view stream, std::string_view bytes);
std::string keepalive_event();
std::string end_event(const wire::ProcessEnd& end);

}  // namespace glovebox::e2b
