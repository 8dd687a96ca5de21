// The messages of process.Process: requests, parsed once, and events. Unknown fields are ignored,
// as clients expect.
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
  std::string cwd;                // as the client sent it
  std::string tag;
  std::optional<TerminalSize> terminal;
  bool has_stdin = true;
};
Result<StartRequest> read_start(const boost::json::value& message);

// Which process: by its pid in the sandbox, or by the tag that it was started with.
struct ProcessSelector {
  std::optional<std::uint32_t> pid;
  std::string tag;
};
Result<ProcessSelector> read_selector(const boost::json::value& message);
std::string not_found_message(const ProcessSelector& selector);

struct ProcessInput {
  std::string bytes;
  bool is_terminal = false;
};
// Of an object with the field "input".
Result<ProcessInput> read_input(const boost::json::value& message);

// The message of SendInput.
struct SendInputRequest {
  ProcessSelector selector;
  Result<ProcessInput> input;  // a process that is not there is the first error
};
Result<SendInputRequest> read_send_input(const boost::json::value& message);

// One message of StreamInput: the first has a start, most others have data.
struct StreamInputMessage {
  std::optional<Result<ProcessSelector>> start;
  std::optional<Result<ProcessInput>> data;
};
Result<StreamInputMessage> read_stream_input(std::string_view message);

// SIGNAL_SIGTERM, SIGNAL_SIGKILL or their numbers; nothing: any other signal.
std::optional<int> read_signal(const boost::json::value& message);
Result<std::optional<TerminalSize>> read_terminal(const boost::json::value& message);

// Absolute. A relative path and "~/..." are below the user's home. Empty: the home of a user that
// only the guest knows.
Result<std::string> directory_of(std::string_view cwd, std::string_view user);
// A well-formed user name or number; "user" when the request names none. Nothing: malformed.
std::optional<std::string> user_for(const http::Request& request);

// E2B_SANDBOX, E2B_SANDBOX_ID, E2B_TEMPLATE_ID.
std::vector<std::string> sandbox_variables(const node::Session& session);
// `environment` is the session's.
std::vector<std::string> command_environment(const node::Session& session, std::string_view user,
                                             std::vector<std::string> environment,
                                             const std::vector<std::string>& envs);

// Of a start that failed.
ConnectError start_failure(const Error& error, std::string_view user, std::string_view cwd);

// Connect-Timeout-Ms; nothing: no limit.
std::optional<std::chrono::milliseconds> timeout_of(const http::Request& request);
std::chrono::milliseconds keepalive_of(const http::Request& request);

// Events of a stream, as JSON.
std::string start_event(std::uint32_t pid);
std::string data_event(std::string_view stream, std::string_view bytes);
std::string keepalive_event();
std::string end_event(const wire::ProcessEnd& end);

}  // namespace glovebox::e2b
