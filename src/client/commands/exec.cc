// `glovebox exec ID COMMAND` and `glovebox shell ID`: run a program in a sandbox with this
// command's streams or terminal.
#include <sys/ioctl.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/percent_encoding.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/references.h"
#include "client/connection/resume.h"
#include "client/exec/exec_stream.h"
#include "client/output/network_notes.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"
#include "client/requests/limit_options.h"
#include "model/outcome.h"
#include "model/program_refusal.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

struct ExecOptions {
  ServerLocationOptions server;
  std::string shell;
  std::string attach;
  std::string user;
  std::string cwd;
  std::string timeout;
  std::vector<std::string> env;
  bool interactive = false;  // the default; for hands that type -it
  bool terminal = false;
  bool detach = false;
  bool no_stdin = false;
  bool resume = false;
  bool json = false;
};

std::vector<options::Option> program_options(ExecOptions& exec) {
  return {{"--user", "NAME", "run as this user (default: user)", &exec.user},
          {"--cwd", "DIR", "working directory (default: the user's home)", &exec.cwd, "--workdir"},
          {"--env", "NAME=VALUE", "set an environment variable (repeatable)", &exec.env},
          resume_option(exec.resume)};
}

options::CommandLine exec_command_line(ExecOptions& exec) {
  std::vector<options::Option> all = {
      {"--shell", "LINE", "run LINE with the sandbox's shell", &exec.shell},
      {"--attach", "PROCESS", "attach to a program that runs already", &exec.attach},
      {"-i,--interactive", "", "pass standard input on (this is the default)", &exec.interactive},
      {"-t,--tty", "", "allocate a terminal (Ctrl-P Ctrl-Q detaches)", &exec.terminal,
       "--terminal"},
      {"-d,--detach", "", "start the program in the background and print its process number",
       &exec.detach}};
  for (options::Option& option : program_options(exec)) all.push_back(std::move(option));
  all.push_back({"--timeout", "TIME", "kill the program after this time", &exec.timeout});
  all.push_back({"--no-stdin", "", "give the program no input", &exec.no_stdin});
  all.push_back({"--json", "", "collect the output and print one object", &exec.json});
  return {
      .name = "glovebox exec",
      .usage = "[OPTIONS] ID COMMAND [ARG...]",
      .description =
          "Run a program in a sandbox, with this command's input, output and exit status. ID is "
          "the sandbox's id, the beginning of it, or its name. All words after COMMAND are the "
          "program's; `--` may stand before it. --shell and --attach take the place of COMMAND. "
          "Ctrl-C is passed on; a second Ctrl-C ends this command and leaves the program running.",
      .groups = {{"Options", std::move(all)}, server_location_options(exec.server)},
      .notes =
          "Exit status: that of the program (128 + n if signal n ended it, 124 if its time ran\n"
          "out); 127 the sandbox has no such program, 126 it is not executable; 2 bad usage, 125\n"
          "the server refused or does not respond.\n\n"
          "Examples:\n"
          "  glovebox exec dev ls -la\n"
          "  glovebox exec -it dev python3\n"
          "  glovebox exec dev --shell 'cd /tmp && ls | wc -l'\n",
      .most_operands = 1,
      .has_program_arguments = true,
      .has_program_after_operands = true};
}

options::CommandLine shell_command_line(ExecOptions& exec) {
  std::vector<options::Option> all = {
      {"--attach", "PROCESS", "attach to a terminal that was detached", &exec.attach}};
  for (options::Option& option : program_options(exec)) all.push_back(std::move(option));
  return {
      .name = "glovebox shell",
      .usage = "[OPTIONS] ID",
      .description =
          "Open a shell in a sandbox. Ctrl-P Ctrl-Q detaches: the shell keeps running, and "
          "`glovebox shell --attach PROCESS ID` attaches to it again.",
      .groups = {{"Options", std::move(all)}, server_location_options(exec.server)},
      .notes =
          "Exit status: that of the shell; 0 when detached; 2 bad usage, 125 the server refused\n"
          "or does not respond.\n",
      .most_operands = 1};
}

Result<json::object> start_message(const ExecOptions& exec, const std::vector<std::string>& argv) {
  json::object start;
  if (!argv.empty()) {
    start["argv"] = json::array(argv.begin(), argv.end());
  } else {
    start["cmd"] = exec.shell;
  }
  if (!exec.user.empty()) start["user"] = exec.user;
  if (!exec.cwd.empty()) start["cwd"] = exec.cwd;
  TRY(json::object env, named_values_json(exec.env, "--env"));
  if (exec.terminal) {
    winsize window{};
    const bool known = ::ioctl(STDIN_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row != 0;
    start["terminal"] =
        json::object{{"rows", known ? window.ws_row : 24}, {"columns", known ? window.ws_col : 80}};
    const char* term = std::getenv("TERM");
    if (!env.contains("TERM")) env["TERM"] = term != nullptr ? term : "xterm";
  }
  if (!env.empty()) start["env"] = std::move(env);
  if (!exec.timeout.empty()) {
    auto time = parse_duration(exec.timeout);
    if (!time) return fail(std::move(time.error()).context("--timeout"));
    start["timeout_ms"] = time->count();
  }
  return start;
}

int exec_refused(const ApiError& error) {
  const int status = failure(Error(Errc::kUnavailable, error.message));
  return exit_status_of_refusal(error.code).value_or(status);
}

// Without a stream: --json and --detach.
int post_exec(const ExecOptions& exec, const std::string& word, json::object start) {
  if (exec.detach) start["background"] = true;
  auto api = ApiClient::connect(exec.server);
  if (!api) return usage_error_or_failure(api.error());
  const auto id = resolve_sandbox(*api, word);
  if (!id) return failure(id.error());
  if (exec.resume) {
    if (auto resumed = resume_if_paused(*api, *id); !resumed) return failure(resumed.error());
  }
  const auto response = api->send(
      post_request("/v1/sandboxes/" + percent_encode(*id) + "/exec", json::serialize(start)));
  if (!response) return failure(response.error());
  if (auto error = api->error_in(*response)) {
    return exec_refused(explain_pause(*api, *id, std::move(*error)));
  }
  const auto result = parse_response(response->body);
  if (!result) return failure(result.error());
  print(exec.json ? response->body : printable(field_text(*result, "process")) + "\n");
  const json::value* code = result->if_contains("exit_code");
  return code != nullptr && code->is_int64() ? static_cast<int>(code->get_int64()) : 0;
}

Result<std::string> first_stream_message(const ExecOptions& exec,
                                         const std::vector<std::string>& argv) {
  if (exec.attach.empty()) {
    TRY(json::object start, start_message(exec, argv));
    start["type"] = "start";
    // Like a local program it does not outlive this command, unless it has a terminal.
    start["on_disconnect"] = exec.terminal ? "keep" : "kill";
    return json::serialize(start);
  }
  TRY(const std::uint64_t process, options::parse_count(exec.attach, "--attach", 1ull << 53));
  return json::serialize(json::object{{"type", "attach"}, {"process", process}});
}

// Standard error, as for the other limits of a program.
void print_timeout(const ExecOptions& exec) {
  const auto time = parse_duration(exec.timeout);
  if (!time) return;  // --attach: another client has set the time
  std::fprintf(stderr, "glovebox: timed out after %g s\n",
               std::chrono::duration<double>(*time).count());
}

// `no_terminal`: the mistake if a terminal is needed and there is none.
int stream_exec(const ExecOptions& exec, const std::string& word,
                const std::vector<std::string>& argv, std::string_view no_terminal) {
  auto first = first_stream_message(exec, argv);
  if (!first) return usage_error(first.error().message());
  if (exec.terminal && ::isatty(STDIN_FILENO) == 0) return usage_error(std::string(no_terminal));
  auto api = ApiClient::connect(exec.server);
  if (!api) return usage_error_or_failure(api.error());
  const auto id = resolve_sandbox(*api, word);
  if (!id) return failure(id.error());
  const ExecStreamRequest request{.sandbox = *id,
                                  .first_message = std::move(*first),
                                  .terminal = exec.terminal,
                                  .input = !exec.no_stdin};
  if (exec.resume) {
    if (auto resumed = resume_if_paused(*api, *id); !resumed) return failure(resumed.error());
  }
  const std::string began = utc_text(wall_clock_ms());
  auto result = run_exec_stream(api->location(), request);
  if (!result) return failure(result.error());
  if (result->refused) {
    return exec_refused(explain_pause(*api, *id, std::move(*result->refused)));
  }
  if (result->is_output_closed) return 128 + SIGPIPE;  // as `glovebox run`
  if (result->detached) {
    std::fprintf(stderr, "\r\ndetached; `glovebox shell --attach %llu %s` attaches again\r\n",
                 static_cast<unsigned long long>(result->process), printable(word).c_str());
    return 0;
  }
  if (result->timed_out) print_timeout(exec);
  if (result->exit_code != 0 && exec.attach.empty()) {
    const std::string note = exec_network_note(*api, *id, began, result->has_network_errors);
    std::fputs(note.c_str(), stderr);
  }
  return result->exit_code;
}

}  // namespace

int exec_command(const std::vector<std::string>& args) {
  ExecOptions exec;
  options::Arguments arguments;
  if (const auto status = parse_arguments(exec_command_line(exec), args, arguments)) return *status;
  if (arguments.operands.empty()) {
    return usage_error("missing sandbox ID (see `glovebox exec --help`)");
  }
  const std::string& id = arguments.operands[0];
  const std::vector<std::string>& argv = arguments.program_arguments;
  const int programs =
      (argv.empty() ? 0 : 1) + (exec.shell.empty() ? 0 : 1) + (exec.attach.empty() ? 0 : 1);
  if (programs != 1) {
    return usage_error("use exactly one of COMMAND, --shell LINE and --attach PROCESS");
  }
  if (exec.interactive && exec.no_stdin) {
    return usage_error("--interactive and --no-stdin cannot be combined");
  }
  if (exec.json || exec.detach) {
    if (!exec.attach.empty() || (exec.json && exec.terminal)) {
      return usage_error("--json and --detach cannot be combined with --attach or --tty");
    }
    auto start = start_message(exec, argv);
    if (!start) return usage_error(start.error().message());
    return post_exec(exec, id, std::move(*start));
  }
  return stream_exec(exec, id, argv, "--tty: standard input is not a terminal; leave out -t");
}

int shell_command(const std::vector<std::string>& args) {
  ExecOptions exec;
  options::Arguments arguments;
  if (const auto status = parse_arguments(shell_command_line(exec), args, arguments)) {
    return *status;
  }
  if (arguments.operands.empty()) {
    return usage_error("missing sandbox ID (see `glovebox shell --help`)");
  }
  exec.terminal = true;
  return stream_exec(exec, arguments.operands[0], {"/bin/bash", "-l"},
                     "standard input is not a terminal; use `glovebox exec ID COMMAND`");
}

}  // namespace glovebox::client
