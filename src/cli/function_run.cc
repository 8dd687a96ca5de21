#include "cli/function_run.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "base/unique_fd.h"
#include "base/utf8.h"
#include "base/write_all.h"
#include "cli/client_program.h"
#include "cli/local_gateway.h"
#include "cli/print.h"
#include "engine/catalog.h"
#include "engine/one_shot.h"
#include "engine/process/import_policy.h"
#include "model/environment.h"
#include "wire/functions/function_answer.h"
#include "wire/functions/function_view.h"
#include "wire/guest/job.h"
#include "wire/network/net_policy_json.h"
#include "wire/packages/dependencies_json.h"
#include "wire/runs/outcome_json.h"

namespace glovebox::cli {
namespace {

namespace json = boost::json;

constexpr int kFunctionInterrupted = 130;
constexpr std::size_t kMaxStdin = 4 * wire::kMaxEventBytes;
constexpr std::uint64_t kJsonOutput = 10u << 20;
constexpr std::uint64_t kServerOutputKb = 16 * 1024;

std::vector<RuntimeFile> (*runtime_files)() = nullptr;

int report_error(int status, const std::string& message) {
  std::fprintf(stderr, "sandbox-run: %s\n", printable(message).c_str());
  return status;
}

Result<std::string> event_from_stdin() {
  std::string text;
  if (::isatty(STDIN_FILENO) == 1) return text;
  char part[65536];
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("read standard input"));
    if (got == 0) return text;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > kMaxStdin) {
      return fail(Errc::kInvalidArgument, "the event on standard input is too large");
    }
  }
}

// ---- On this machine

struct FunctionRuntime {
  const char* name;
  const char* program;
  const char* folder;
  std::vector<std::string> options;  // before the script
  const char* script;
};

FunctionRuntime runtime_of(const wire::FunctionCall& call) {
  if (call.language == wire::FunctionLanguage::kNode) {
    return {"Node", "/usr/bin/node", "opt/glovebox/node/", {}, "run.js"};
  }
  return {"Python", "/usr/bin/python3", "opt/glovebox/python/", {"-I"}, "run.py"};
}

std::vector<std::string> function_environment(const FunctionOptions& options) {
  std::vector<std::string> env = base_environment();
  for (const std::string& variable : options.env) {
    const std::string prefix = variable.substr(0, variable.find('=') + 1);
    std::erase_if(env, [&](const std::string& old) { return old.rfind(prefix, 0) == 0; });
    env.push_back(variable);
  }
  return env;
}

// A sandbox of the process engine has only a home directory of its own, so the runtime is copied
// there. It leaves the environment and the working directory unchanged.
Result<> copy_runtime(const FunctionRuntime& runtime, std::string& directory,
                      engine::RunRequest& request) {
  constexpr std::size_t kPrefix = std::string_view("opt/glovebox/").size();
  directory = std::string("/home/user/.glovebox/") + (runtime.folder + kPrefix);
  if (runtime_files == nullptr)
    return fail(Errc::kInternal, "this program carries no runtime files");
  for (const RuntimeFile& file : runtime_files()) {
    if (!file.path.starts_with(runtime.folder) || file.path.ends_with(".so")) continue;
    TRY(GuestPath guest,
        GuestPath::parse(directory + file.path.substr(std::strlen(runtime.folder))));
    request.files_in.push_back(
        {.host = "", .guest = std::move(guest), .content = std::string(file.bytes)});
  }
  return {};
}

struct PreparedFunction {
  engine::RunRequest request;
  wire::FunctionCallInfo about;
};

Result<PreparedFunction> prepare_function(const FunctionOptions& options, EngineKind kind) {
  PreparedFunction prepared;
  engine::RunRequest& request = prepared.request;
  const FunctionRuntime runtime = runtime_of(options.call);
  if (::access(runtime.program, X_OK) != 0) {
    return fail(Errc::kUnsupported, std::string(runtime.name) + " is not installed on this host (" +
                                        runtime.program + ")");
  }
  request.sandbox.limits = options.limits;
  if (options.json) request.output_limit = kJsonOutput;
  request.exec.env = function_environment(options);
  wire::FunctionCall call = options.call;
  std::string directory = std::string("/") + runtime.folder;
  wire::Job job;
  job.name = wire::kFunctionJob;
  if (kind == EngineKind::kProcess) {
    TRY_OK(copy_runtime(runtime, directory, request));
    job.workdir = ".";
    if (call.language == wire::FunctionLanguage::kPython) {
      call.import_mode = "deny";
      call.imports = engine::ImportPolicy::standard().modules;
      request.extra_walls.add(Wall::kImportPolicy);
    }
  } else {
    job.env = request.exec.env;
  }
  request.exec.argv = {runtime.program};
  request.exec.argv.insert(request.exec.argv.end(), runtime.options.begin(), runtime.options.end());
  request.exec.argv.push_back(directory + runtime.script);
  wire::EncodedCall encoded = wire::encode_call(call, options.limits.memory_bytes >> 20);
  job.code = std::move(encoded.code);
  prepared.about = std::move(encoded.about);
  request.runtime_job = wire::encode_job(job);
  return prepared;
}

// Only the last lines, in their order: a guest may have written millions.
std::vector<std::string> last_lines_of(const std::string& text) {
  constexpr std::size_t kMost = 64;
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (!rest.empty() && lines.size() < kMost) {
    const std::size_t end = rest.rfind('\n');
    const std::size_t begin = end == rest.npos ? 0 : end + 1;
    if (begin < rest.size()) lines.emplace_back(rest.substr(begin));
    rest = end == rest.npos ? std::string_view() : rest.substr(0, end);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

int print_result(const FunctionOptions& options, const std::string& exit_json,
                 const Outcome& outcome) {
  const auto view = wire::view_function(exit_json);
  if (!view) return report_error(wire::kFunctionFailed, view.error().message());
  std::fputs(view->remarks.c_str(), stderr);
  if (options.profile) std::fputs(view->profile.c_str(), stderr);
  const std::string out = options.json ? wire::run_answer_json(exit_json, outcome) : view->out;
  if (!write_all(STDOUT_FILENO, out)) return wire::kFunctionFailed;
  return view->status;
}

int report_not_started(const FunctionOptions& options, const Error& error) {
  if (error.sys_errno() == EINTR) return kFunctionInterrupted;
  if (options.json) (void)write_all(STDOUT_FILENO, wire::failure_json(error));
  return report_error(wire::kFunctionNotStarted, error.message());
}

UniqueFd block_stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int run_function_locally(const FunctionOptions& options) {
  auto engine = engine::make_engine(options.engine);
  if (!engine) return report_error(wire::kFunctionFailed, engine.error().message());
  auto prepared = prepare_function(options, (*engine)->kind());
  if (!prepared) return report_not_started(options, prepared.error());

  ::signal(SIGPIPE, SIG_IGN);
  const UniqueFd stop = block_stop_signals();
  engine::RunHooks hooks;
  hooks.stop_fd = stop.get();
  std::string out;
  std::string err;
  hooks.on_output = [&](engine::Stream stream, std::string_view bytes) {
    if (!options.json) return write_all(STDERR_FILENO, bytes).has_value();
    (stream == engine::Stream::kOut ? out : err).append(bytes);
    return true;
  };
  std::unique_ptr<LocalGateway> gateway;
  if (!options.net.is_none()) {
    auto started = LocalGateway::start(options.net);
    if (!started) return report_not_started(options, started.error());
    gateway = std::move(*started);
    prepared->request.has_network = true;
    hooks.on_network = [&](engine::Instance::Lent lent) {
      return gateway->open(lent.id, std::move(lent.sockets));
    };
  }
  auto result = engine::run_once(**engine, prepared->request, hooks);
  if (!result) return report_not_started(options, result.error());
  if (result->stopped) return kFunctionInterrupted;
  wire::RunAnswer answer;
  answer.outcome = std::move(result->outcome);
  answer.outcome.out = std::move(out);
  answer.outcome.err = std::move(err);
  answer.results = last_lines_of(result->results);
  if (gateway) answer.network = gateway->close();
  const std::string exit_json = wire::function_exit_json(answer, prepared->about);
  const int status = print_result(options, exit_json, answer.outcome);
  // Wait for the private launcher's cleanup only now: the output was printed already.
  result->ended_instance.reset();
  return status;
}

// ---- On a server

int run_function_on_server(const FunctionOptions& options) {
  const std::string body = invoke_body(options);
  // Without CLOEXEC: the client program inherits it.
  const UniqueFd file(::memfd_create("sandbox-run", 0));
  if (!file)
    return report_error(wire::kFunctionFailed, Error::from_errno("memfd_create").message());
  if (auto written = write_all(file.get(), body); !written) {
    return report_error(wire::kFunctionFailed, written.error().message());
  }
  std::vector<std::string> args = {"--body-fd", std::to_string(file.get())};
  if (options.json) args.emplace_back("--json");
  if (options.profile) args.emplace_back("--profile");
  const std::vector<std::string> server = server_arguments(options.where);
  args.insert(args.end(), server.begin(), server.end());
  if (options.is_private) args.emplace_back("--private");
  (void)exec_client_program("invoke", args);
  return wire::kFunctionNotStarted;
}

}  // namespace

void set_runtime_files(std::vector<RuntimeFile> (*files)()) { runtime_files = files; }

std::string invoke_body(const FunctionOptions& options) {
  const wire::FunctionCall& call = options.call;
  json::object body{
      {"language", call.language == wire::FunctionLanguage::kNode ? "javascript" : "python"},
      {"code", call.code},
      {"file_name", call.file},
      {"timeout_ms", wire::time_of(call).count()}};
  if (!call.handler.empty()) body["handler"] = call.handler;
  json::object profile{{"output_kb", kServerOutputKb}};
  if (options.limits.was_asked_for(LimitKind::kMemory)) {
    profile["memory_mb"] = options.limits.memory_bytes >> 20;
  }
  if (!options.net.is_none()) profile["net"] = wire::net_policy_json(options.net);
  if (!options.dependencies.empty()) {
    profile["dependencies"] = wire::dependencies_json(options.dependencies);
  }
  if (options.reuse != ReuseMode::kNever) profile["reuse"] = reuse_name(options.reuse);
  body["profile"] = std::move(profile);
  json::object variables;
  for (const std::string& variable : options.env) {
    const std::size_t equals = variable.find('=');
    variables[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  if (!variables.empty()) body["env"] = std::move(variables);
  std::string text = json::serialize(body);
  text.back() = ',';
  return text + "\"context\":" + call.context + ",\"event\":" + call.event + "}";
}

int run_function_line(std::span<const std::string> args) {
  auto parsed = parse_function_options(args, event_from_stdin);
  if (!parsed) {
    const bool unreadable = parsed.error().code() == Errc::kNotFound;
    return report_error(unreadable ? wire::kFunctionUnreadable : wire::kFunctionFailed,
                        parsed.error().message());
  }
  if (!parsed->options) {
    std::fputs(parsed->help.c_str(), stdout);
    return wire::kFunctionDone;
  }
  const FunctionOptions& options = *parsed->options;
  return options.is_remote || options.is_private ? run_function_on_server(options)
                                                 : run_function_locally(options);
}

}  // namespace glovebox::cli
