#include "dialects/e2b/envd/process_json.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>

#include "base/base64.h"
#include "dialects/e2b/envd/request_user.h"
#include "model/environment.h"
#include "sessions/processes/process_label.h"
#include "sessions/processes/user_environment.h"
#include "wire/guest/guest_frames.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using wire::ObjectReader;

constexpr std::size_t kMaxInput = 16u << 20;  // more than the limit of a body
constexpr std::size_t kMaxVariables = 1024;
constexpr std::uint64_t kMaxSide = 4096;  // of a terminal
constexpr std::chrono::seconds kDefaultKeepalive{90};
constexpr std::uint64_t kMaxKeepaliveSeconds = 3600;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const json::value* part_of(const json::value& message, std::string_view name) {
  const json::object* object = message.if_object();
  const json::value* value = object == nullptr ? nullptr : object->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// In proto3's JSON a number may also be a string of digits.
Result<std::optional<std::uint64_t>> whole(ObjectReader& fields, std::string_view name,
                                           std::uint64_t high) {
  const json::value* value = fields.take(name);
  if (value == nullptr || !value->is_string()) return fields.whole(name, 0, high);
  const json::string& text = value->get_string();
  const auto number = number_in({text.data(), text.size()});
  if (!number || *number > high) return fields.bad(name, "must be a whole number");
  return number;
}

// Names are any that the kernel takes.
Result<std::vector<std::string>> read_variables(ObjectReader& fields, std::string_view name) {
  std::vector<std::string> out;
  const json::value* value = fields.take(name);
  if (value == nullptr) return out;
  const json::object* variables = value->if_object();
  if (variables == nullptr) return fields.bad(name, "must be an object of strings");
  if (variables->size() > kMaxVariables) return fields.bad(name, "must have at most 1024 entries");
  for (const auto& one : *variables) {
    const std::string key(one.key().data(), one.key().size());
    const std::string at = std::string(name) + "." + key.substr(0, 60);
    if (key.empty() || key.find('=') != std::string::npos) {
      return fields.bad(at, "is not a valid variable name");
    }
    const json::string* text = one.value().if_string();
    if (text == nullptr) return fields.bad(at, "must be a string");
    out.push_back(key + "=" + std::string(text->data(), text->size()));
    TRY_OK(wire::check_no_nul(out.back(), fields.path_of(at)));
  }
  return out;
}

// The agent accepts so much in one frame; the variables of template and session are added later.
Result<> check_sizes(const ObjectReader& fields, const StartRequest& start) {
  constexpr std::size_t kForSession = 16 * 1024;
  std::size_t bytes = start.cmd.size() + start.cwd.size();
  for (const auto* list : {&start.args, &start.envs}) {
    for (const std::string& text : *list) bytes += text.size() + 1;
  }
  if (bytes > wire::kMaxExecBytes - kForSession ||
      start.args.size() + start.envs.size() > wire::kMaxExecStrings - 256) {
    return fields.bad("args", "args and envs together must not exceed 112 KB; use files");
  }
  return {};
}

std::uint16_t side(std::optional<std::uint64_t> given, std::uint16_t otherwise) {
  if (!given || *given == 0) return otherwise;
  return static_cast<std::uint16_t>(std::min(*given, kMaxSide));
}

bool is_root(std::string_view user) { return user == "root" || user == "0"; }
bool is_user(std::string_view user) { return user == "user" || user == "1000"; }

std::string home_for(std::string_view user) {
  if (is_root(user) || is_user(user)) return sessions::home_of(is_root(user) ? "root" : "user");
  return number_in(user) ? "/" : "/home/" + std::string(user);
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> heads) {
  return std::any_of(heads.begin(), heads.end(),
                     [text](std::string_view head) { return text.starts_with(head); });
}

// In Go's wording, which E2B's users know: "killed", "segmentation fault".
std::string signal_description(int signal) {
  const char* known = ::sigdescr_np(signal);
  if (known == nullptr) return "signal " + std::to_string(signal);
  std::string text = known;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

}  // namespace

Result<StartRequest> read_start(const json::value& message) {
  TRY(ObjectReader fields, ObjectReader::open(message, ""));
  StartRequest start;
  const json::value* process = fields.take("process");
  if (process == nullptr) return fields.bad("process", "is missing");
  TRY(ObjectReader config, ObjectReader::open(*process, "process"));
  TRY(auto cmd, config.text("cmd", wire::kMaxExecBytes));
  if (!cmd || cmd->empty()) return config.bad("cmd", "is missing");
  TRY_OK(wire::check_no_nul(*cmd, config.path_of("cmd")));
  start.cmd = std::move(*cmd);
  TRY(start.args, config.texts("args", wire::kMaxExecStrings, wire::kMaxExecBytes));
  TRY(start.envs, read_variables(config, "envs"));
  TRY(auto cwd, config.text("cwd", wire::kMaxSessionPath));
  start.cwd = std::move(cwd).value_or("");
  TRY_OK(wire::check_no_nul(start.cwd, config.path_of("cwd")));
  TRY_OK(check_sizes(config, start));
  TRY(auto tag, fields.text("tag", sessions::kMaxTag));
  start.tag = std::move(tag).value_or("");
  TRY(const auto has_stdin, fields.truth("stdin"));
  start.has_stdin = has_stdin.value_or(true);
  TRY(start.terminal, read_terminal(message));
  return start;
}

Result<ProcessSelector> read_selector(const json::value& message) {
  TRY(ObjectReader fields, ObjectReader::open(message, ""));
  const json::value* process = fields.take("process");
  if (process == nullptr) return fields.bad("process", "is missing");
  TRY(ObjectReader which, ObjectReader::open(*process, "process"));
  ProcessSelector selector;
  TRY(const auto pid, whole(which, "pid", UINT32_MAX));
  if (pid) selector.pid = static_cast<std::uint32_t>(*pid);
  TRY(auto tag, which.text("tag", sessions::kMaxTag));
  selector.tag = std::move(tag).value_or("");
  if (!selector.pid && selector.tag.empty()) return which.bad("pid", "is missing (or give tag)");
  return selector;
}

std::string not_found_message(const ProcessSelector& selector) {
  if (selector.pid) return "process with pid " + std::to_string(*selector.pid) + " not found";
  return "process with tag " + selector.tag + " not found";
}

Result<ProcessInput> read_input(const json::value& message) {
  TRY(ObjectReader fields, ObjectReader::open(message, ""));
  const json::value* input = fields.take("input");
  if (input == nullptr) return fields.bad("input", "is missing");
  TRY(ObjectReader one, ObjectReader::open(*input, "input"));
  TRY(const auto to_stdin, one.text("stdin", kMaxInput));
  TRY(const auto to_terminal, one.text("pty", kMaxInput));
  if (to_stdin.has_value() == to_terminal.has_value()) {
    return fields.bad("input", "must have stdin or pty");
  }
  auto bytes = base64_decode(to_stdin ? *to_stdin : *to_terminal);
  if (!bytes) return fields.bad("input", bytes.error().message());
  return ProcessInput{std::move(*bytes), to_terminal.has_value()};
}

Result<SendInputRequest> read_send_input(const json::value& message) {
  TRY(ProcessSelector selector, read_selector(message));
  return SendInputRequest{std::move(selector), read_input(message)};
}

Result<StreamInputMessage> read_stream_input(std::string_view message) {
  TRY(const json::value document, wire::parse_strict_json(message));
  StreamInputMessage read;
  if (const json::value* start = part_of(document, "start")) read.start = read_selector(*start);
  if (const json::value* data = part_of(document, "data")) read.data = read_input(*data);
  return read;
}

std::optional<int> read_signal(const json::value& message) {
  const json::object* object = message.if_object();
  const json::value* value = object == nullptr ? nullptr : object->if_contains("signal");
  if (value == nullptr) return std::nullopt;
  if (value->is_string() && value->get_string() == "SIGNAL_SIGKILL") return SIGKILL;
  if (value->is_string() && value->get_string() == "SIGNAL_SIGTERM") return SIGTERM;
  if (value->is_int64() && value->get_int64() == SIGKILL) return SIGKILL;
  if (value->is_int64() && value->get_int64() == SIGTERM) return SIGTERM;
  return std::nullopt;
}

Result<std::optional<TerminalSize>> read_terminal(const json::value& message) {
  TRY(ObjectReader fields, ObjectReader::open(message, ""));
  const json::value* terminal = fields.take("pty");
  if (terminal == nullptr) return std::nullopt;
  TRY(ObjectReader pty, ObjectReader::open(*terminal, "pty"));
  TerminalSize size;
  const json::value* given = pty.take("size");
  if (given == nullptr) return std::optional(size);
  TRY(ObjectReader sides, ObjectReader::open(*given, "pty.size"));
  TRY(const auto rows, whole(sides, "rows", UINT32_MAX));
  TRY(const auto columns, whole(sides, "cols", UINT32_MAX));
  size.rows = side(rows, size.rows);
  size.columns = side(columns, size.columns);
  return std::optional(size);
}

Result<std::string> directory_of(std::string_view cwd, std::string_view user) {
  if (!cwd.empty() && cwd.front() == '/') return std::string(cwd);
  if (cwd.empty() || cwd == "~" || cwd == "~/") {
    return is_root(user) || is_user(user) ? home_for(user) : std::string();
  }
  if (cwd.front() != '~') return home_for(user) + "/" + std::string(cwd);
  if (cwd[1] == '/') return home_for(user) + std::string(cwd.substr(1));
  return fail(Errc::kInvalidArgument, "cwd: the home directory of another user is not known");
}

std::optional<std::string> user_for(const http::Request& request) {
  std::string user = user_of(request);
  if (user.empty()) return "user";
  const bool is_valid =
      user.size() <= wire::kMaxUserName && std::all_of(user.begin(), user.end(), [](char c) {
        return static_cast<unsigned char>(c) > ' ' && c != '/' && c != '\x7f';
      });
  if (!is_valid) return std::nullopt;
  return user;
}

std::vector<std::string> sandbox_variables(const node::Session& session) {
  return {"E2B_SANDBOX=true", "E2B_SANDBOX_ID=" + session.id().str(),
          "E2B_TEMPLATE_ID=" + session.template_name()};
}

std::vector<std::string> command_environment(const node::Session& session, std::string_view user,
                                             std::vector<std::string> environment,
                                             const std::vector<std::string>& envs) {
  // For other users than the two that every sandbox has, the agent sets these variables.
  if (!is_root(user) && !is_user(user)) {
    std::erase_if(environment, [](const std::string& variable) {
      return starts_with_any(variable, {"HOME=", "USER=", "LOGNAME=", "SHELL="});
    });
  }
  auto all = joined_environment(sandbox_variables(session), environment);
  return sessions::environment_for(user, std::move(all), envs);
}

ConnectError start_failure(const Error& error, std::string_view user, std::string_view cwd) {
  const std::string& message = error.message();
  if (starts_with_any(message, {"no such user", "this sandbox has only one user"})) {
    return {Code::kUnauthenticated, "invalid username: '" + std::string(user) + "'"};
  }
  if (message.starts_with("enter working directory")) {
    if (error.sys_errno() == ENOENT) {
      return {Code::kInvalidArgument, "cwd '" + std::string(cwd) + "' does not exist"};
    }
    return {Code::kInvalidArgument, "cwd '" + std::string(cwd) + "': " + message};
  }
  switch (error.code()) {
    case Errc::kNotFound:
    case Errc::kPermissionDenied:
    case Errc::kInvalidArgument:
      return {Code::kInvalidArgument, "error starting process: " + message};
    case Errc::kResourceExhausted:
      return {Code::kResourceExhausted, message};
    default:
      return failure_of(error);
  }
}

std::optional<milliseconds> timeout_of(const http::Request& request) {
  const std::string_view text = request.header("Connect-Timeout-Ms");
  const auto number = text.size() <= 10 ? number_in(text) : std::nullopt;  // Connect's limit
  if (!number || *number == 0) return std::nullopt;
  return milliseconds(*number);
}

milliseconds keepalive_of(const http::Request& request) {
  const auto number = number_in(request.header("Keepalive-Ping-Interval"));
  if (!number || *number == 0) return kDefaultKeepalive;
  return std::chrono::seconds(std::min(*number, kMaxKeepaliveSeconds));
}

std::string start_event(std::uint32_t pid) {
  return R"({"event":{"start":{"pid":)" + std::to_string(pid) + "}}}";
}

std::string data_event(std::string_view stream, std::string_view bytes) {
  std::string text = R"({"event":{"data":{")";
  text.append(stream).append("\":\"").append(base64_encode(bytes)).append("\"}}}");
  return text;
}

std::string keepalive_event() { return R"({"event":{"keepalive":{}}})"; }

std::string end_event(const wire::ProcessEnd& end) {
  const bool exited = end.signal == 0;
  const std::string status = exited ? "exit status " + std::to_string(end.code)
                                    : "signal: " + signal_description(end.signal);
  json::object ended{{"exitCode", exited ? end.code : -1}, {"exited", exited}, {"status", status}};
  if (!exited || end.code != 0) ended["error"] = status;
  return R"({"event":{"end":)" + json::serialize(ended) + "}}";
}

}  // namespace glovebox::e2b
