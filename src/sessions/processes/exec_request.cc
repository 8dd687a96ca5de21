#include "sessions/processes/exec_request.h"

#include <boost/json.hpp>

#include "base/wall_clock.h"
#include "model/environment.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/process_label.h"
#include "sessions/processes/user_environment.h"
#include "wire/guest/guest_frames.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"

namespace glovebox::sessions {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kMaxOutputKb = 16 * 1024;
constexpr std::uint64_t kMaxSide = 4096;  // of a terminal

Result<> read_program(wire::ObjectReader& fields, ExecRequest& request) {
  TRY(const auto cmd, fields.text("cmd", wire::kMaxExecBytes));
  const bool has_argv = fields.take("argv") != nullptr;
  TRY(request.argv, fields.texts("argv", wire::kMaxExecStrings, wire::kMaxExecBytes));
  const bool has_args = fields.take("args") != nullptr;
  TRY(const auto args, fields.texts("args", wire::kMaxExecStrings, wire::kMaxExecBytes));
  if (cmd && has_argv) return fields.bad("argv", "cannot be combined with cmd");
  if (has_args && !cmd) return fields.bad("args", "goes with cmd; argv has its own arguments");
  if (!cmd && !has_argv) return fields.bad("cmd", "is missing (or give argv)");
  if (cmd) {
    if (cmd->empty()) return fields.bad("cmd", "must not be empty");
    TRY_OK(wire::check_no_nul(*cmd, fields.path_of("cmd")));
    if (has_args) {
      request.argv = {*cmd};
      request.argv.insert(request.argv.end(), args.begin(), args.end());
    } else {
      request.cmd = *cmd;
    }
  } else if (request.argv.empty() || request.argv[0].empty()) {
    return fields.bad("argv", "must begin with a program");
  }
  return {};
}

// The agent's limit for one frame; the variables of template and session are added later, and few.
Result<> check_sizes(const wire::ObjectReader& fields, const ExecRequest& request) {
  constexpr std::size_t kForTheSession = 16 * 1024;
  std::size_t bytes = request.cmd.size() + request.cwd.size();
  for (const auto* list : {&request.argv, &request.env}) {
    for (const std::string& text : *list) bytes += text.size() + 1;
  }
  if (bytes > wire::kMaxExecBytes - kForTheSession ||
      request.argv.size() + request.env.size() > wire::kMaxExecStrings - 256) {
    return fields.bad(request.argv.empty() ? "cmd" : "argv",
                      "arguments and env together are larger than 112 KB; use files or stdin");
  }
  return {};
}

// As a shell would show it, for display only.
std::string shown(const ExecRequest& request) {
  if (!request.cmd.empty()) return request.cmd;
  std::string text;
  for (const std::string& word : request.argv) {
    if (!text.empty()) text += ' ';
    text += word;
    if (text.size() > 4096) break;
  }
  return text;
}

}  // namespace

Result<TerminalSize> read_terminal_size(wire::ObjectReader& fields) {
  TerminalSize size;
  TRY(const auto rows, fields.whole("rows", 1, kMaxSide));
  TRY(const auto columns, fields.whole("columns", 1, kMaxSide));
  size.rows = static_cast<std::uint16_t>(rows.value_or(size.rows));
  size.columns = static_cast<std::uint16_t>(columns.value_or(size.columns));
  return size;
}

Result<ExecRequest> read_exec_request(wire::ObjectReader& fields) {
  ExecRequest request;
  TRY_OK(read_program(fields, request));
  request.has_user = fields.take("user") != nullptr;
  TRY(request.user, wire::read_user(fields, "user"));
  TRY(auto cwd, wire::read_directory(fields, "cwd"));
  request.has_cwd = cwd.has_value();
  request.cwd = cwd ? std::move(*cwd) : home_of(request.user);
  TRY(request.env, wire::read_environment(fields, "env"));
  TRY(request.stdin_bytes, wire::read_bytes(fields, "stdin"));
  TRY(const auto timeout, fields.whole("timeout_ms", 0, kMaxTimeoutMs));
  if (timeout) request.timeout = std::chrono::milliseconds(*timeout);
  TRY(const auto background, fields.truth("background"));
  request.background = background.value_or(false);
  TRY(const auto output, fields.whole("output_kb", 0, kMaxOutputKb));
  if (output) request.output_bytes = *output * 1024;
  if (const json::value* terminal = fields.take("terminal")) {
    TRY(wire::ObjectReader size, wire::ObjectReader::open(*terminal, fields.path_of("terminal")));
    TRY(request.terminal, read_terminal_size(size));
    TRY_OK(size.finish());
  }
  TRY_OK(check_sizes(fields, request));
  return request;
}

Result<ExecRequest> parse_exec_request(std::string_view body) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  TRY(ExecRequest request, read_exec_request(fields));
  TRY_OK(fields.finish());
  return request;
}

node::ProcessSpec process_spec(const ExecRequest& request, std::vector<std::string> environment,
                               Shell shell) {
  node::ProcessSpec spec;
  if (request.cmd.empty()) {
    spec.exec.argv = request.argv;
  } else {
    spec.exec.argv = {shell == Shell::kBash ? "/bin/bash" : "/bin/sh", "-c", request.cmd};
  }
  spec.exec.env = environment_for(request.user, std::move(environment), request.env);
  if (request.terminal) {
    const std::vector<std::string> terminal = {"TERM=xterm-256color"};
    spec.exec.env = joined_environment(terminal, spec.exec.env);
  }
  spec.exec.workdir = request.cwd;
  spec.exec.terminal = request.terminal;
  spec.user = request.user;
  ProcessLabel label;
  label.cmd = shown(request);
  label.user = request.user;
  label.cwd = request.cwd;
  label.created_ms = wall_clock_ms();
  spec.label = encode_label(label);
  return spec;
}

}  // namespace glovebox::sessions
