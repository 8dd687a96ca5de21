#include "cli/function_options.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>

#include <CLI/CLI.hpp>

#include "base/unique_fd.h"
#include "base/units.h"
#include "cli/server_words.h"
#include "cli/version.h"
#include "engine/catalog.h"
#include "wire/guest_frames.h"
#include "wire/strict_json.h"
#include "wire/utf8.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMaxCode = wire::kMaxJobBytes;
constexpr std::size_t kMaxEvent = 4 * wire::kMaxEventBytes;  // as typed, with its blanks

// The words as typed; the checks below give them meaning.
struct Words {
  std::string file, handler, event, event_file, context, timeout, memory,
      engine{engine::kDefaultEngine}, url;
  std::vector<std::string> env;
  bool json = false, profile = false, version = false, server = false, local = false;
  bool has_event = false;
};

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Whatever is wrong with a file is kNotFound: for its exit status it is all the same.
tl::unexpected<Error> unreadable(const std::string& path, const std::string& why) {
  return fail(Errc::kNotFound, path + ": " + why);
}

// To its end: of a pipe, such as a shell makes of <(...), that is when its writers have closed it.
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

Result<> read_handler(const Words& words, FunctionOptions& options) {
  if (words.file.empty())
    return fail_invalid("name the FILE of the handler (see `sandbox-run --help`)");
  wire::FunctionCall& call = options.call;
  TRY(call.code, read_file(words.file, kMaxCode));
  const std::string name = words.file.substr(words.file.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  const std::string extension = dot == std::string::npos ? "" : name.substr(dot);
  if (extension == ".js" || extension == ".mjs" || extension == ".cjs") {
    call.language = wire::FunctionLanguage::kNode;
  } else if (extension != ".py") {
    return fail_invalid(
        "the language of '" + words.file +
        "' is not known by its extension: .py is Python, .js, .mjs and .cjs are Node");
  }
  if (!wire::is_utf8(call.code)) return unreadable(words.file, "is not UTF-8");
  if (call.code.find('\0') != std::string::npos) {
    return unreadable(words.file, "has a NUL byte in it");
  }
  // A name that is no module's is one to nobody but tracebacks.
  if (!wire::take_file(call, name, "FILE")) call.file = "handler" + extension;
  if (!words.handler.empty()) TRY_OK(wire::take_handler(call, words.handler, "--handler"));
  return {};
}

// The event is --event, --event-file, or standard input unless that is a terminal.
Result<> read_event(const Words& words, FunctionOptions& options,
                    Result<std::string> (*event_from_stdin)()) {
  if (words.has_event && !words.event_file.empty()) {
    return fail_invalid("say --event or --event-file, not both");
  }
  std::string text = words.event;
  std::string at = "--event";
  if (!words.event_file.empty() && words.event_file != "-") {
    TRY(text, read_file(words.event_file, kMaxEvent));
    if (!wire::is_utf8(text)) return unreadable(words.event_file, "is not UTF-8");
    at = words.event_file;
  } else if (!words.has_event) {
    TRY(text, event_from_stdin());
    at = "the event on standard input";
    if (text.find_first_not_of(" \t\r\n") == text.npos) text = "{}";
  }
  auto event = wire::parse_strict_json(text, {.depth = 64, .values = 250'000});
  if (!event) return fail_invalid(at + ": " + event.error().message());
  return wire::take_event(options.call, *event, "event");
}

Result<> read_limits(const Words& words, FunctionOptions& options) {
  if (!words.timeout.empty()) {
    const auto time = parse_duration(words.timeout);
    if (!time) return fail_invalid("--timeout: " + time.error().message());
    if (*time > wire::kMaxFunctionTime)
      return fail_invalid("--timeout may be at most 3600 seconds");
    options.call.asked_time = *time;
  }
  options.limits.wall = wire::time_of(options.call);
  options.limits.mark_asked_for(LimitKind::kWall);
  if (!words.memory.empty()) {
    // Lambda counts in megabytes.
    const auto size = parse_size(is_digits(words.memory) ? words.memory + "M" : words.memory);
    if (!size) return fail_invalid("--memory: " + size.error().message());
    if (*size < 8 * kMegabyte) return fail_invalid("--memory must be at least 8 (MB)");
    options.limits.memory_bytes = *size;
    options.limits.mark_asked_for(LimitKind::kMemory);
  }
  return {};
}

Result<> read_environment(const Words& words, FunctionOptions& options) {
  std::size_t bytes = 0;
  for (const std::string& variable : words.env) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail_invalid("--env " + variable.substr(0, 60) + ": write it like NAME=value");
    }
    bytes += variable.size() + 1;
    options.env.push_back(variable);
  }
  if (bytes > wire::kMaxExecBytes - 8192)
    return fail_invalid("--env: all together are larger than 120K");
  return {};
}

Result<> choose_function_place(const Words& words, FunctionOptions& options) {
  if (words.server && words.local) return fail_invalid("--server and --local do not go together");
  TRY_OK(engine::make_engine(words.engine));
  options.engine = words.engine;
  options.is_remote = is_for_a_server(words.server, words.local);
  options.url = words.url;
  if (options.is_remote && words.engine != engine::kDefaultEngine) {
    return fail_invalid("--engine " + words.engine +
                        ": a server has its own; say --local to run here");
  }
  return {};
}

void describe(CLI::App& app, Words& words) {
  app.add_option("FILE", words.file, "the handler: .py is Python; .js, .mjs and .cjs are Node");
  app.add_option("--event", words.event, "the event, as JSON (default: standard input, else {})")
      ->type_name("JSON");
  app.add_option("--event-file", words.event_file, "a file with the event; - is standard input");
  app.add_option("--handler", words.handler,
                 "the function: a name, or module.function (default handler)");
  app.add_option("--context", words.context,
                 "fields of the context, like {\"function_name\":\"f\"}")
      ->type_name("JSON");
  app.add_option(
      "--timeout", words.timeout,
      "seconds, or like 500ms; default 300, at most 3600 (also: __timeout in the event)");
  app.add_option("--memory", words.memory, "like 256 (megabytes) or 1G (default 512)");
  app.add_option("--env", words.env, "NAME=value; nothing else of yours goes in")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--engine", words.engine,
                 "jail (default) or process (a convenience, not a security boundary)");
  app.add_option("--server", words.url,
                 "run on a server: at this URL, or the one that is known (also: GLOVEBOX_URL)")
      ->type_name("[URL]");
  app.add_flag("--local", words.local, "run here, also when GLOVEBOX_URL is set");
  app.add_flag("--profile", words.profile, "tell on standard error where time and memory went");
  app.add_flag("--json", words.json, "print the whole answer instead of the result");
  app.add_flag("--version", words.version, "print the version");
  app.footer(
      "\nThe result is printed as JSON, or Lambda's error object; what the handler prints goes to\n"
      "standard error.\n\n"
      "Exit status: 0 the handler returned; 1 it raised, or the words or the event are wrong; 2 a\n"
      "file is not there or cannot be read; 3 a syntax error, or there is no such handler; 4 time\n"
      "ran out; 5 the sandbox could not start; 130 interrupted.\n\n"
      "examples:\n"
      "  sandbox-run handler.py --event '{\"name\":\"Ada\"}'\n"
      "  sandbox-run app.py --handler lambda_function.lambda_handler --event-file event.json\n"
      "  echo '{\"k\":1}' | sandbox-run index.mjs --profile --memory 256 --timeout 3");
}

}  // namespace

Result<ParsedFunction> parse_function_options(std::span<const std::string> args,
                                              Result<std::string> (*event_from_stdin)()) {
  Words words;
  CLI::App app(
      "Run an AWS Lambda handler in a fresh sealed sandbox.\nusage: sandbox-run FILE [OPTIONS]");
  app.name("sandbox-run");
  describe(app, words);
  const std::vector<std::string> ours = take_server_words(args, words.server, words.url);
  std::vector<std::string> reversed(ours.rbegin(), ours.rend());  // as CLI11 wants it
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return ParsedFunction{std::nullopt, app.help()};
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    message.resize(std::min(message.find('\n'), message.size()));
    return fail_invalid(message + " (see `sandbox-run --help`)");
  }
  if (words.version) {
    return ParsedFunction{std::nullopt, std::string("sandbox-run ") + kVersion + "\n"};
  }
  words.has_event = app.count("--event") > 0;

  FunctionOptions options;
  options.json = words.json;
  options.profile = words.profile;
  TRY_OK(choose_function_place(words, options));
  TRY_OK(read_handler(words, options));
  TRY_OK(read_event(words, options, event_from_stdin));
  if (!words.context.empty()) {
    auto context = wire::parse_strict_json(words.context, {.depth = 64, .values = 10'000});
    if (!context) return fail_invalid("--context: " + context.error().message());
    TRY_OK(wire::take_context(options.call, *context, "--context"));
  }
  TRY_OK(read_limits(words, options));
  TRY_OK(read_environment(words, options));
  return ParsedFunction{std::move(options), ""};
}

}  // namespace glovebox::cli
