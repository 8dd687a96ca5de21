#include "cli/function_options.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/unique_fd.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/package_language.h"
#include "cli/server_option.h"
#include "cli/version.h"
#include "engine/catalog.h"
#include "options/command_line.h"
#include "options/package_options.h"
#include "wire/guest/guest_frames.h"
#include "wire/json/strict_json.h"
#include "wire/network/network_options.h"
#include "wire/packages/package_options.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMaxCode = wire::kMaxJobBytes;
constexpr std::size_t kMaxEvent = 4 * wire::kMaxEventBytes;  // with white space

// As typed; the functions below check the values and convert them.
struct TypedFunction {
  std::string file, handler, event_file, context, timeout, memory, engine{engine::kDefaultEngine},
      reuse;
  std::optional<std::string> event;
  std::vector<std::string> env, net, net_deny;
  wire::PackageOptions packages;
  ServerOption where;
  bool json = false, profile = false, version = false;
};

tl::unexpected<Error> invalid_function_option(std::string message) {
  return fail(Errc::kInvalidArgument, std::move(message));
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Every problem with a file is kNotFound: they share one exit status.
tl::unexpected<Error> unreadable(const std::string& path, const std::string& reason) {
  return fail(Errc::kNotFound, path + ": " + reason);
}

// Reads to the end of the file, which may be a pipe, such as <(...) of a shell.
Result<std::string> read_file(const std::string& path, std::size_t most) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return unreadable(path, std::strerror(errno));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return unreadable(path, std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return unreadable(path, "is a directory");
  std::string text;
  char part[65536];
  while (true) {
    const ssize_t got = ::read(file.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, std::strerror(errno));
    if (got == 0) return text;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > most) {
      return unreadable(path, "is larger than " + std::to_string(most >> 20) + "M");
    }
  }
}

Result<> read_handler(const TypedFunction& typed, FunctionOptions& options) {
  if (typed.file.empty())
    return invalid_function_option("missing FILE of the handler (see `sandbox-run --help`)");
  wire::FunctionCall& call = options.call;
  TRY(call.code, read_file(typed.file, kMaxCode));
  const std::string name = typed.file.substr(typed.file.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  const std::string extension = dot == std::string::npos ? "" : name.substr(dot);
  if (extension == ".js" || extension == ".mjs" || extension == ".cjs") {
    call.language = wire::FunctionLanguage::kNode;
  } else if (extension != ".py") {
    return invalid_function_option(
        "cannot tell the language of '" + typed.file +
        "' by its extension: .py is Python; .js, .mjs and .cjs are Node");
  }
  if (!is_utf8(call.code)) return unreadable(typed.file, "is not UTF-8");
  if (call.code.find('\0') != std::string::npos) {
    return unreadable(typed.file, "contains a NUL byte");
  }
  // A name that cannot be imported is only shown in tracebacks; any other will do.
  if (!wire::take_file(call, name, "FILE")) call.file = "handler" + extension;
  if (!typed.handler.empty()) TRY_OK(wire::take_handler(call, typed.handler, "--handler"));
  return {};
}

// The event is --event, --event-file, or standard input unless that is a terminal.
Result<> read_event(const TypedFunction& typed, FunctionOptions& options,
                    Result<std::string> (*event_from_stdin)()) {
  if (typed.event && !typed.event_file.empty()) {
    return invalid_function_option("--event and --event-file cannot be combined");
  }
  std::string text = typed.event.value_or("");
  std::string source = "--event";
  if (!typed.event_file.empty() && typed.event_file != "-") {
    TRY(text, read_file(typed.event_file, kMaxEvent));
    if (!is_utf8(text)) return unreadable(typed.event_file, "is not UTF-8");
    source = typed.event_file;
  } else if (!typed.event) {
    TRY(text, event_from_stdin());
    source = "the event on standard input";
    if (text.find_first_not_of(" \t\r\n") == text.npos) text = "{}";
  }
  auto event = wire::parse_strict_json(text, {.depth = 64, .values = 250'000});
  if (!event) return invalid_function_option(source + ": " + event.error().message());
  return wire::take_event(options.call, *event, "event");
}

Result<> read_limits(const TypedFunction& typed, FunctionOptions& options) {
  if (!typed.timeout.empty()) {
    const auto time = parse_duration(typed.timeout);
    if (!time) return invalid_function_option("--timeout: " + time.error().message());
    if (*time > wire::kMaxFunctionTime)
      return invalid_function_option("--timeout may be at most 3600 seconds");
    options.call.asked_time = *time;
  }
  options.limits.wall = wire::time_of(options.call);
  options.limits.mark_asked_for(LimitKind::kWall);
  if (!typed.memory.empty()) {
    // A bare number is megabytes, as in Lambda.
    const auto size = parse_size(is_digits(typed.memory) ? typed.memory + "M" : typed.memory);
    if (!size) return invalid_function_option("--memory: " + size.error().message());
    if (*size < 8 * kMegabyte) return invalid_function_option("--memory must be at least 8 (MB)");
    options.limits.memory_bytes = *size;
    options.limits.mark_asked_for(LimitKind::kMemory);
  }
  return {};
}

Result<> read_environment(const TypedFunction& typed, FunctionOptions& options) {
  std::size_t bytes = 0;
  for (const std::string& variable : typed.env) {
    TRY_OK(options::parse_named_value(variable, "--env"));
    bytes += variable.size() + 1;
    options.env.push_back(variable);
  }
  if (bytes > wire::kMaxExecBytes - 8192)
    return invalid_function_option("--env: the variables exceed 120K in total");
  return {};
}

Result<> read_network(const TypedFunction& typed, FunctionOptions& options) {
  TRY(options.net, wire::parse_network_options(typed.net, typed.net_deny));
  if (!options.net.is_none() && options.engine != engine::kDefaultEngine) {
    return invalid_function_option("--net needs --engine jail: the " + options.engine +
                                   " engine cannot enforce a network policy");
  }
  return {};
}

Result<> read_packages(const TypedFunction& typed, FunctionOptions& options) {
  const wire::PackageOptions& packages = typed.packages;
  if (!packages.is_given()) return {};
  if (options.call.language == wire::FunctionLanguage::kNode) {
    TRY_OK(check_packages_for_node(packages));
  }
  if (options.engine != engine::kDefaultEngine) {
    return invalid_function_option("--engine " + options.engine +
                                   " cannot be combined with packages");
  }
  auto wanted = wire::read_package_options(packages);
  if (!wanted && wanted.error().code() != Errc::kInvalidArgument) {
    return fail(Errc::kNotFound, wanted.error().message());
  }
  TRY(options.dependencies, std::move(wanted));
  options.is_private = !options.is_remote;
  return {};
}

Result<> choose_function_host(const TypedFunction& typed, FunctionOptions& options) {
  TRY_OK(engine::make_engine(typed.engine));
  options.engine = typed.engine;
  TRY(options.is_remote, runs_on_server(typed.where));
  options.where = typed.where;
  if (!typed.reuse.empty()) {
    const ReuseMode* mode = parse_reuse(typed.reuse);
    if (mode == nullptr)
      return invalid_function_option("--reuse must be never, sandbox or interpreter");
    if (!options.is_remote) return invalid_function_option("--reuse needs --server");
    options.reuse = *mode;
  }
  if (options.is_remote && typed.engine != engine::kDefaultEngine) {
    return invalid_function_option(
        "--engine " + typed.engine +
        ": a server chooses the engine itself; use --local to run on this machine");
  }
  return {};
}

options::CommandLine function_command_line(TypedFunction& typed) {
  return {
      .name = "sandbox-run",
      .usage = {"FILE [OPTIONS]"},
      .description =
          "Run an AWS Lambda handler in a fresh sandbox. FILE is the handler: .py is Python; .js, "
          ".mjs and .cjs are Node.",
      .groups =
          {{"Options",
            {{"--event", "JSON", "the event (default: standard input, else {})", &typed.event},
             {"--event-file", "FILE", "read the event from FILE; - is standard input",
              &typed.event_file},
             {"--handler", "NAME", "the function: a name, or module.function (default handler)",
              &typed.handler},
             {"--context", "JSON", "fields of the context, like {\"function_name\":\"f\"}",
              &typed.context},
             {"--timeout", "TIME",
              "time limit in seconds, or like 500ms; default 300, at most 3600 (the event's "
              "__timeout does the same)",
              &typed.timeout},
             {"--memory", "SIZE", "memory limit, like 256 (megabytes) or 1G (default 512)",
              &typed.memory},
             {"--env", "NAME=VALUE",
              "set an environment variable (repeatable); nothing else of your environment is "
              "passed on",
              &typed.env},
             {"--engine", "ENGINE",
              "jail (default) or process (a convenience, not a security boundary)", &typed.engine},
             {"--net", "POLICY",
              "network policy: none (default), https-only, all, or rules like "
              "api.example.com:443 (repeatable)",
              &typed.net},
             {"--net-deny", "RULE[,RULE]", "exceptions from --net (repeatable)", &typed.net_deny},
             server_option(typed.where),
             url_option(typed.where),
             key_option(typed.where),
             data_dir_option(typed.where),
             {"--reuse", "MODE",
              "with --server: sandbox, to share one with other calls of Python handlers that have "
              "the same limits, with a new process and new files; interpreter, to share these, "
              "too, with calls of the same handler, as on Lambda (default never)",
              &typed.reuse},
             local_option(typed.where),
             {"--profile", "", "print time and memory use to standard error", &typed.profile},
             {"--json", "", "print the whole response instead of the result", &typed.json},
             {"--version", "", "print the version", &typed.version}}},
           options::package_options("Packages", typed.packages)},
      .notes =
          "The result is printed as JSON, or Lambda's error object. Output of the handler goes to\n"
          "standard error.\n\n"
          "Exit status: 0 the handler returned; 1 it raised, or the options or the event are "
          "invalid;\n"
          "2 a file does not exist or cannot be read; 3 a syntax error, or there is no such "
          "handler;\n"
          "4 the time limit was reached; 5 the sandbox could not start; 130 interrupted.\n\n"
          "Examples:\n"
          "  sandbox-run handler.py --event '{\"name\":\"Ada\"}'\n"
          "  sandbox-run app.py --handler lambda_function.lambda_handler --event-file event.json\n"
          "  sandbox-run handler.py --requirements requirements.txt --event-file event.json\n"
          "  echo '{\"k\":1}' | sandbox-run index.mjs --profile --memory 256 --timeout 3\n",
      .most_operands = 1};
}

}  // namespace

Result<ParsedFunction> parse_function_options(std::span<const std::string> args,
                                              Result<std::string> (*event_from_stdin)()) {
  TypedFunction typed;
  const options::CommandLine command = function_command_line(typed);
  TRY(const options::Arguments arguments, options::parse(command, args));
  if (!arguments.help.empty()) return ParsedFunction{std::nullopt, arguments.help};
  if (typed.version) {
    return ParsedFunction{std::nullopt, std::string("sandbox-run ") + kVersion + "\n"};
  }
  if (!arguments.operands.empty()) typed.file = arguments.operands[0];

  FunctionOptions options;
  options.json = typed.json;
  options.profile = typed.profile;
  TRY_OK(choose_function_host(typed, options));
  TRY_OK(read_network(typed, options));
  TRY_OK(read_handler(typed, options));
  TRY_OK(read_event(typed, options, event_from_stdin));
  if (!typed.context.empty()) {
    auto context = wire::parse_strict_json(typed.context, {.depth = 64, .values = 10'000});
    if (!context) return invalid_function_option("--context: " + context.error().message());
    TRY_OK(wire::take_context(options.call, *context, "--context"));
  }
  TRY_OK(read_limits(typed, options));
  TRY_OK(read_environment(typed, options));
  TRY_OK(read_packages(typed, options));
  return ParsedFunction{std::move(options), ""};
}

}  // namespace glovebox::cli
