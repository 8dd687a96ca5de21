#include "cli/run_options.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>

#include <CLI/CLI.hpp>

#include "base/units.h"
#include "cli/run_words.h"
#include "cli/server_words.h"
#include "engine/catalog.h"
#include "engine/process/import_policy.h"
#include "model/environment.h"
#include "wire/guest_frames.h"
#include "wire/launcher_messages.h"
#include "wire/net_words.h"

namespace glovebox::cli {
namespace {

constexpr std::uint64_t kMaxCodeBytes = 16u << 20;
constexpr std::uint64_t kDefaultJsonOutput = 10u << 20;

struct Language {
  const char* name;
  const char* extension;
  const char* program;
};
constexpr Language kLanguages[] = {
    {"python", ".py", "/usr/bin/python3"},
    {"bash", ".sh", "/bin/bash"},
    {"node", ".js", "/usr/bin/node"},
    {"node", ".mjs", "/usr/bin/node"},
};

const Language* language_named(const std::string& name) {
  for (const Language& language : kLanguages) {
    if (name == language.name) return &language;
  }
  return nullptr;
}

const Language* language_of_file(const std::string& path) {
  for (const Language& language : kLanguages) {
    const std::string extension = language.extension;
    if (path.size() > extension.size() &&
        path.compare(path.size() - extension.size(), extension.size(), extension) == 0) {
      return &language;
    }
  }
  return nullptr;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<const Language*> choose_language(const RunWords& words) {
  if (!words.lang.empty()) {
    const Language* language = language_named(words.lang);
    if (language == nullptr) {
      return fail_invalid("unknown language '" + words.lang + "'; there are: python, bash, node");
    }
    return language;
  }
  if (words.has_code || words.file == "-") return &kLanguages[0];
  const Language* language = language_of_file(words.file);
  if (language == nullptr) {
    return fail_invalid("the language of '" + words.file +
                        "' is not known by its extension; say --lang, or --exec");
  }
  return language;
}

Result<> check_readable_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fail(Error::from_errno(path));
  if (S_ISDIR(info.st_mode)) return fail_invalid(path + " is a directory");
  if (!S_ISREG(info.st_mode)) return fail_invalid(path + " is not a plain file");
  if (::access(path.c_str(), R_OK) != 0) return fail(Error::from_errno(path));
  return {};
}

// What is run: a language's code (from FILE, -c or stdin), or an executable of the sandbox.
Result<> choose_program(const RunWords& words, RunOptions& options,
                        Result<std::string> (*code_from_stdin)()) {
  ExecSpec& exec = options.request.exec;
  const int sources =
      (words.file.empty() ? 0 : 1) + (words.has_code ? 1 : 0) + (words.program.empty() ? 0 : 1);
  if (sources == 0)
    return fail_invalid(
        "nothing to run: name a FILE, or say -c CODE, or - for standard input, or --exec PROGRAM");
  if (sources > 1)
    return fail_invalid("say only one of FILE, -c and --exec (arguments go behind --)");
  if (!words.program.empty()) {
    if (!words.lang.empty()) return fail_invalid("--lang goes with code, not with --exec");
    exec.argv = {words.program};
  } else {
    TRY(const Language* language, choose_language(words));
    options.language = language->name;
    if (!options.is_remote && ::access(language->program, X_OK) != 0) {
      return fail_invalid(std::string(language->name) + " is not installed on this host (" +
                          language->program + ")");
    }
    FileIn code{.host = "", .guest = GuestPath::parse("main").value(), .content = std::nullopt};
    std::string name = std::string("main") + language->extension;
    if (words.has_code) {
      code.content = words.code;
    } else if (words.file == "-") {
      TRY(code.content, code_from_stdin());
      options.stdin_is_code = true;
    } else {
      TRY_OK(check_readable_file(words.file));
      code.host = words.file;
      name = base_name(words.file);
    }
    TRY(code.guest, GuestPath::parse(name));
    if (code.content && code.content->size() > kMaxCodeBytes)
      return fail_invalid("the code is larger than 16M");
    if (code.content && code.content->find('\0') != std::string::npos)
      return fail_invalid("the code has a NUL byte in it");
    exec.argv = {language->program, code.guest.str()};
    options.request.files_in.push_back(std::move(code));
  }
  exec.argv.insert(exec.argv.end(), words.args.begin(), words.args.end());
  return {};
}

Result<std::uint32_t> parse_count(const std::string& text, const char* what, std::uint32_t most) {
  std::uint64_t value = 0;
  bool good = !text.empty() && text.size() <= 9;
  for (const char c : text) {
    good = good && c >= '0' && c <= '9';
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (!good || value == 0 || value > most) {
    return fail_invalid(std::string(what) + " must be a whole number from 1 to " +
                        std::to_string(most));
  }
  return static_cast<std::uint32_t>(value);
}

Result<std::uint32_t> parse_cpus(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool plain = text.find_first_not_of("0123456789.") == std::string::npos;
  if (text.empty() || *end != '\0' || !plain || !(value >= 0.01) || value > 1024) {
    return fail_invalid("--cpus must be a number from 0.01 to 1024, like 0.5 or 2");
  }
  return static_cast<std::uint32_t>(std::lround(value * 1000));
}

Result<> set_limits(const RunWords& words, RunOptions& options) {
  Limits& limits = options.request.sandbox.limits;
  const auto named = [](const char* option) {
    return [option](Error error) { return std::move(error).context(option); };
  };
  if (!words.timeout.empty()) {
    TRY(limits.wall, parse_duration(words.timeout).map_error(named("--timeout")));
    limits.mark_asked_for(LimitKind::kWall);
  }
  if (!words.cpu_time.empty()) {
    TRY(limits.cpu_time, parse_duration(words.cpu_time).map_error(named("--cpu-time")));
    limits.mark_asked_for(LimitKind::kCpuTime);
  }
  if (!words.memory.empty()) {
    TRY(limits.memory_bytes, parse_size(words.memory).map_error(named("--memory")));
    if (limits.memory_bytes < (8u << 20)) return fail_invalid("--memory must be at least 8M");
    limits.mark_asked_for(LimitKind::kMemory);
  }
  if (!words.disk.empty()) {
    TRY(limits.disk_bytes, parse_size(words.disk).map_error(named("--disk")));
    if (limits.disk_bytes < (1u << 20)) return fail_invalid("--disk must be at least 1M");
    limits.mark_asked_for(LimitKind::kDisk);
  }
  if (!words.pids.empty()) {
    TRY(limits.pids, parse_count(words.pids, "--pids", 1'000'000));
    // The agent and the program itself are two of them.
    if (limits.pids < 2) return fail_invalid("--pids must be at least 2");
    limits.mark_asked_for(LimitKind::kPids);
  }
  if (!words.cpus.empty()) {
    TRY(limits.cpu_thousandths, parse_cpus(words.cpus));
    limits.mark_asked_for(LimitKind::kCpus);
  }
  if (!words.output_limit.empty()) {
    TRY(options.request.output_limit,
        parse_size(words.output_limit).map_error(named("--output-limit")));
  } else if (words.json) {
    options.request.output_limit = kDefaultJsonOutput;
  }
  return {};
}

// "ro:/host[:/guest]"
Result<MountSpec> parse_mount(const std::string& text) {
  const std::string form =
      "--mount " + text + ": write it like ro:/host/dir or rw:/host/dir:/guest/dir";
  if (text.size() < 4 || (text.rfind("ro:", 0) != 0 && text.rfind("rw:", 0) != 0))
    return fail_invalid(form);
  std::string host = text.substr(3);
  std::string guest;
  if (const std::size_t colon = host.rfind(":/"); colon != std::string::npos && colon > 0) {
    guest = host.substr(colon + 1);
    host.resize(colon);
  }
  char* resolved = ::realpath(host.c_str(), nullptr);
  if (resolved == nullptr) return fail(Error::from_errno("--mount " + host));
  const std::string absolute = resolved;
  std::free(resolved);
  struct stat info {};
  if (::stat(absolute.c_str(), &info) != 0) return fail(Error::from_errno("--mount " + host));
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
    return fail_invalid("--mount " + host + ": not a directory or a plain file");
  }
  TRY(GuestPath guest_path, GuestPath::parse(guest.empty() ? absolute : guest));
  return MountSpec{text[1] == 'o' ? MountMode::kReadOnly : MountMode::kReadWrite, absolute,
                   guest_path};
}

// Where a file is copied out to: noticed now, not after the run, if it cannot be.
Result<std::string> parse_out_target(std::string path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    if (S_ISLNK(info.st_mode)) {
      char* resolved = ::realpath(path.c_str(), nullptr);
      if (resolved == nullptr) return fail(Error::from_errno("--out " + path));
      path = resolved;
      std::free(resolved);
      if (::lstat(path.c_str(), &info) != 0) return fail(Error::from_errno("--out " + path));
    }
    if (S_ISDIR(info.st_mode))
      return fail_invalid("--out " + path + " is a directory; name the file");
    if (!S_ISREG(info.st_mode)) return fail_invalid("--out " + path + " is not a plain file");
  }
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(parent.c_str(), W_OK | X_OK) != 0) return fail(Error::from_errno("--out " + path));
  return path;
}

Result<> set_files(const RunWords& words, RunOptions& options) {
  for (const std::string& text : words.mounts) {
    TRY(MountSpec mount, parse_mount(text));
    options.request.sandbox.mounts.push_back(std::move(mount));
  }
  if (words.mounts.size() > wire::kMaxMounts) return fail_invalid("at most 16 mounts");
  for (const std::string& text : words.files_in) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
      return fail_invalid("--file " + text + ": write it like host/file:/guest/file");
    }
    FileIn file{.host = text.substr(0, colon),
                .guest = GuestPath::parse("x").value(),
                .content = std::nullopt};
    TRY_OK(check_readable_file(file.host));
    TRY(file.guest, GuestPath::parse(text.substr(colon + 1)));
    options.request.files_in.push_back(std::move(file));
  }
  for (const std::string& text : words.files_out) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
      return fail_invalid("--out " + text + ": write it like /guest/file:host/file");
    }
    TRY(GuestPath guest, GuestPath::parse(text.substr(0, colon)));
    TRY(std::string host, parse_out_target(text.substr(colon + 1)));
    options.request.files_out.push_back({std::move(guest), std::move(host)});
  }
  return {};
}

Result<> set_environment(const RunWords& words, RunOptions& options) {
  ExecSpec& exec = options.request.exec;
  // Nothing of the caller's environment goes in by itself.
  exec.env = base_environment();
  if (words.terminal) {
    const char* term = std::getenv("TERM");
    exec.env.push_back(std::string("TERM=") + (term != nullptr ? term : "xterm"));
  }
  options.own_env = words.env;
  for (const std::string& variable : words.env) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail_invalid("--env " + variable.substr(0, 60) + ": write it like NAME=value");
    }
    const std::string prefix = variable.substr(0, equals + 1);
    std::erase_if(exec.env, [&](const std::string& old) { return old.rfind(prefix, 0) == 0; });
    exec.env.push_back(variable);
  }
  if (!words.workdir.empty()) {
    TRY(const GuestPath workdir, GuestPath::parse(words.workdir));
    exec.workdir = workdir.str();
  }
  std::size_t bytes = 0;
  for (const auto* list : {&exec.argv, &exec.env}) {
    for (const std::string& text : *list) bytes += text.size() + 1;
  }
  if (bytes > wire::kMaxExecBytes || exec.argv.size() + exec.env.size() > wire::kMaxExecStrings) {
    return fail_invalid(
        "arguments and environment together are larger than 128K; use a file or standard input");
  }
  return {};
}

// Python in the process engine always has an import policy; elsewhere there are real walls.
Result<> set_import_policy(const RunWords& words, RunOptions& options) {
  const bool asked = !words.deny_imports.empty() || !words.allow_imports.empty();
  if (words.engine != "process") {
    if (asked) return fail_invalid("--deny-import and --allow-import go with --engine process");
    return {};
  }
  if (!words.deny_imports.empty() && !words.allow_imports.empty()) {
    return fail_invalid("say --deny-import or --allow-import, not both");
  }
  const bool python =
      options.request.exec.argv[0] == kLanguages[0].program && words.program.empty();
  if (!python) {
    if (asked) return fail_invalid("an import policy goes with Python code");
    return {};
  }
  engine::ImportPolicy policy = engine::ImportPolicy::standard();
  policy.modules.insert(policy.modules.end(), words.deny_imports.begin(), words.deny_imports.end());
  if (!words.allow_imports.empty())
    policy = {engine::ImportPolicy::Mode::kAllow, words.allow_imports};
  return engine::apply_import_policy(policy, options.request);
}

// On a server when --server or GLOVEBOX_URL says so.
Result<> choose_run_place(const RunWords& words, RunOptions& options) {
  if (words.server && words.local) return fail_invalid("--server and --local do not go together");
  options.is_remote = is_for_a_server(words.server, words.local);
  options.url = words.url;
  options.template_name = words.template_name;
  options.is_private = !options.is_remote && words.packages.is_given();
  options.is_remote = options.is_remote || options.is_private;
  if (!options.is_remote) {
    if (words.template_name.empty()) return {};
    return fail_invalid("--template is for runs on a server: say --server, too");
  }
  const std::string instead = words.packages.is_given()
                                  ? "; packages are installed by a server (--with), which a run "
                                    "without --server starts for itself"
                                  : "; say --local to run here";
  if (words.terminal) return fail_invalid("--tty: a server gives no terminal" + instead);
  // One of our own has our rights, and mounts our paths.
  if (!words.mounts.empty() && !options.is_private) {
    return fail_invalid(
        "--mount: a server mounts what its administrator named (`mounts` of POST /v1/run), not "
        "paths of yours" +
        instead);
  }
  if (words.engine != engine::kDefaultEngine) {
    return fail_invalid("--engine " + words.engine + ": a server has its own" + instead);
  }
  return {};
}

// Python or Node: which of them the packages are for is its language's.
Result<> set_packages(const RunWords& words, RunOptions& options) {
  if (!words.packages.is_given()) return {};
  if (options.language != "python" && options.language != "node") {
    return fail_invalid(
        "--with and its like go with Python or Node code" +
        std::string(options.language.empty() ? ", not with --exec" : ", not with bash"));
  }
  if (options.language == "node" && !words.packages.preload.empty()) {
    return fail_invalid("--preload is for Python only");
  }
  TRY(options.dependencies, wire::read_dependency_words(words.packages));
  return {};
}

}  // namespace

Result<ParsedRun> parse_run_options(std::span<const std::string> args,
                                    Result<std::string> (*code_from_stdin)()) {
  RunWords words;
  // What stands behind "--" is the program's, whatever it looks like.
  std::vector<std::string> ours;
  bool theirs = false;
  for (const std::string& arg : args) {
    if (theirs) {
      words.args.push_back(arg);
    } else if (arg == "--") {
      theirs = true;
    } else {
      ours.push_back(arg);
    }
  }
  CLI::App app(
      "Run code in a fresh sealed sandbox.\nusage: glovebox run [FILE | -c CODE | -] [OPTIONS] [-- "
      "ARGS]");
  app.name("glovebox run");
  describe_run(app, words);
  ours = take_server_words(ours, words.server, words.url);
  std::vector<std::string> reversed(ours.rbegin(), ours.rend());  // as CLI11 wants it
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return ParsedRun{std::nullopt, app.help()};
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    message.resize(std::min(message.find('\n'), message.size()));
    return fail_invalid(message + " (see `glovebox run --help`)");
  }
  words.has_code = app.count("--code") > 0;

  RunOptions options;
  options.json = words.json;
  options.terminal = words.terminal;
  options.engine = words.engine;
  TRY_OK(engine::make_engine(words.engine));
  TRY_OK(choose_run_place(words, options));
  TRY(options.net, wire::parse_net_words(words.net, words.net_deny));
  if (!options.net.is_none() && words.engine == "process") {
    return fail_invalid(
        "--net goes with --engine jail: the process engine has no walls to hold a policy");
  }
  if (!words.min_grade.empty()) {
    const Grade* grade = parse_grade(words.min_grade);
    if (grade == nullptr) {
      return fail_invalid("unknown grade '" + words.min_grade +
                          "'; there are: process, jail-partial, jail, user-kernel, vm");
    }
    options.request.min_grade = *grade;
  }
  if (words.json && words.terminal) return fail_invalid("--json and --tty do not go together");
  TRY_OK(set_limits(words, options));
  TRY_OK(set_files(words, options));
  TRY_OK(choose_program(words, options, code_from_stdin));
  TRY_OK(set_packages(words, options));
  TRY_OK(set_import_policy(words, options));
  TRY_OK(set_environment(words, options));
  return ParsedRun{std::move(options), ""};
}

}  // namespace glovebox::cli
