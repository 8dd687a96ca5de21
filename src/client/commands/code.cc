// `glovebox code ID`: run code in a context of a sandbox, from an option, a file or a prompt.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <cstdio>
#include <thread>

#include "base/percent_encoding.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "base/write_all.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/references.h"
#include "client/connection/resume.h"
#include "client/exec/repl_input.h"
#include "client/output/network_notes.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"
#include "client/output/run_events.h"
#include "client/output/run_result.h"
#include "model/outcome.h"
#include "wire/network/net_refusals.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

struct CodeOptions {
  ServerLocationOptions server;
  std::string code;
  std::string language = "python";
  std::string context;
  std::string timeout;
  bool resume = false;
  bool json = false;
};

options::CommandLine code_command_line(CodeOptions& code) {
  return {
      .name = "glovebox code",
      .usage = "[OPTIONS] ID",
      .description =
          "Run code in a context of a sandbox. Variables, imports and open files persist from "
          "one call to the next. At a terminal it prompts for code line by line; otherwise it "
          "reads standard input. Ctrl-C stops the running code and keeps the state; Ctrl-D "
          "ends.",
      .groups = {{"Options",
                  {{"-c,--code", "CODE", "run CODE and exit", &code.code},
                   {"--language", "LANG",
                    "python (default), bash, javascript, typescript, r or java", &code.language,
                    "--lang"},
                   {"--context", "ID",
                    "use an existing context (default: the language's default context; at a "
                    "terminal a new one, removed at the end)",
                    &code.context},
                   {"--timeout", "TIME", "time limit of each piece of code", &code.timeout},
                   resume_option(code.resume),
                   {"--json", "", "print each response as one object", &code.json}}},
                 server_location_options(code.server)},
      .notes =
          "Exit status: that of the last piece of code; 2 bad usage, 125 the server refused or\n"
          "does not respond.\n",
      .most_operands = 1};
}

// Passes Ctrl-C on to the context while code runs there. Has its own thread, because the main
// thread waits for the response; SIGINT is blocked in all other threads.
class ContextInterrupter {
 public:
  ContextInterrupter(const ServerLocation& location, std::string target)
      : location_(location), target_(std::move(target)), thread_([this] { wait(); }) {}
  ~ContextInterrupter() {
    is_ending_ = true;
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  std::atomic<bool> is_code_running{false};

 private:
  void wait() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGUSR1);
    int signal = 0;
    while (::sigwait(&set, &signal) == 0 && !is_ending_) {
      if (signal != SIGINT || !is_code_running) continue;
      auto api = ApiClient::open(location_);
      if (api) (void)api->send(post_request(target_));
    }
  }

  ServerLocation location_;
  std::string target_;
  std::atomic<bool> is_ending_{false};
  std::thread thread_;
};

void block_code_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

// Runs pieces of code in one context of one sandbox.
class CodeRunner {
 public:
  CodeRunner(ApiClient api, const CodeOptions& code, const std::string& sandbox)
      : api_(std::move(api)),
        options_(code),
        sandbox_(sandbox),
        base_("/v1/sandboxes/" + percent_encode(sandbox)),
        context_(code.context) {}

  Result<> create_context() {
    TRY(const http::ClientResponse response,
        api_.send(post_request(base_ + "/contexts",
                               json::serialize(json::object{{"language", options_.language}}))));
    TRY_OK(check(response));
    TRY(const json::object object, parse_response(response.body));
    context_ = field_text(object, "id");
    is_warm_ = field_text(object, "warm") == "true";
    return {};
  }
  void remove_context() {
    (void)api_.send(delete_request(base_ + "/contexts/" + percent_encode(context_)));
  }
  std::string interrupt_target() const {
    return base_ + "/contexts/" + percent_encode(context_) + "/interrupt";
  }
  bool is_warm() const { return is_warm_; }

  // The exit status of the code.
  Result<int> run(const std::string& code) {
    json::object body{{"code", code}};
    if (!context_.empty()) body["context"] = context_;
    if (context_.empty()) body["language"] = options_.language;
    if (timeout_ms != 0) body["timeout_ms"] = timeout_ms;
    http::ClientRequest request = post_request(base_ + "/code", json::serialize(body));
    return options_.json ? run_and_wait(std::move(request)) : run_streaming(std::move(request));
  }
  std::uint64_t timeout_ms = 0;

 private:
  Result<> check(const http::ClientResponse& response) {
    auto error = api_.error_in(response);
    if (!error) return {};
    return fail(Errc::kUnavailable, explain_pause(api_, sandbox_, std::move(*error)).message);
  }

  Result<int> run_and_wait(http::ClientRequest request) {
    TRY(const http::ClientResponse response, api_.send(std::move(request)));
    TRY_OK(check(response));
    TRY_OK(write_all(STDOUT_FILENO, response.body));
    TRY(const json::object result, parse_response(response.body));
    return exit_status_of(result);
  }

  Result<int> run_streaming(http::ClientRequest request) {
    request.headers = {{"Accept", "application/x-ndjson"}};
    wire::NetworkErrorDetector network_errors;
    RunEvents events([&network_errors](bool is_stderr, std::string_view bytes) {
      if (is_stderr) network_errors.add(bytes);
      return write_all(is_stderr ? STDERR_FILENO : STDOUT_FILENO, bytes).has_value();
    });
    const std::string began = utc_text(wall_clock_ms());
    TRY(const http::ClientResponse response, events.read_from(api_, std::move(request)));
    TRY_OK(check(response));
    TRY(const json::object result, events.take_result());
    const std::string value = field_text(result, "result", "text/plain");
    if (value != "-") TRY_OK(write_all(STDOUT_FILENO, value + "\n"));
    if (field_text(result, "restarted") == "true") {
      TRY_OK(write_all(STDERR_FILENO, "glovebox: the context died; its state was lost\n"));
    }
    const int status = exit_status_of(result);
    if (status != 0) {
      const std::string note = exec_network_note(api_, sandbox_, began, network_errors.found());
      TRY_OK(write_all(STDERR_FILENO, note));
    }
    return status;
  }

  ApiClient api_;
  const CodeOptions& options_;
  std::string sandbox_;
  std::string base_;
  std::string context_;
  bool is_warm_ = false;
};

// The next line of standard input; none at its end.
std::optional<std::string> read_input_line() {
  std::string line;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
  }
  if (line.empty()) return std::nullopt;
  return line;
}

int run_prompt(CodeRunner& runner, const ServerLocation& location, const CodeOptions& code) {
  const bool is_own_context = code.context.empty();
  if (is_own_context) {
    if (auto created = runner.create_context(); !created) return failure(created.error());
    std::fprintf(stderr, "%s, %s; Ctrl-D ends\n", printable(code.language).c_str(),
                 runner.is_warm() ? "warm" : "cold");
  }
  int status = 0;
  {
    ContextInterrupter interrupter(location, runner.interrupt_target());
    ReplInput input(code.language);
    while (true) {
      std::fprintf(stderr, "%s", input.empty() ? ">>> " : "... ");
      const auto line = read_input_line();
      if (!line) break;
      if (!input.add(*line)) continue;
      interrupter.is_code_running = true;
      const auto ran = runner.run(input.take());
      interrupter.is_code_running = false;
      if (!ran) {
        status = failure(ran.error());
        break;
      }
      status = *ran;
    }
  }
  std::fprintf(stderr, "\n");
  if (is_own_context) runner.remove_context();
  return status;
}

std::string read_standard_input() {
  std::string text;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) text += static_cast<char>(c);
  return text;
}

}  // namespace

int code_command(const std::vector<std::string>& args) {
  CodeOptions code;
  options::Arguments arguments;
  if (const auto status = parse_arguments(code_command_line(code), args, arguments)) return *status;
  if (arguments.operands.empty()) {
    return usage_error("missing sandbox ID (see `glovebox code --help`)");
  }
  // As `glovebox run` calls them.
  if (code.language == "node") code.language = "javascript";
  if (code.language == "shell") code.language = "bash";
  auto api = ApiClient::connect(code.server);
  if (!api) return usage_error_or_failure(api.error());
  const ServerLocation location = api->location();
  const auto id = resolve_sandbox(*api, arguments.operands[0]);
  if (!id) return failure(id.error());
  if (code.resume) {
    if (auto resumed = resume_if_paused(*api, *id); !resumed) return failure(resumed.error());
  }
  if (!code.context.empty()) {
    auto context = resolve_context(*api, *id, code.context);
    if (!context) return failure(context.error());
    code.context = std::move(*context);
  }
  CodeRunner runner(std::move(*api), code, *id);
  if (!code.timeout.empty()) {
    const auto time = parse_duration(code.timeout);
    if (!time) return usage_error("--timeout: " + time.error().message());
    runner.timeout_ms = static_cast<std::uint64_t>(time->count());
  }
  if (code.code.empty() && ::isatty(STDIN_FILENO) != 0) {
    block_code_signals();
    return run_prompt(runner, location, code);
  }
  const auto ran = runner.run(code.code.empty() ? read_standard_input() : code.code);
  if (!ran) return failure(ran.error());
  return *ran;
}

}  // namespace glovebox::client
