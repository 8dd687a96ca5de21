#include "cli/run_options.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>

#include "base/shell_quote.h"
#include "base/units.h"
#include "cli/package_language.h"
#include "cli/run_command_line.h"
#include "engine/catalog.h"
#include "engine/process/import_policy.h"
#include "model/environment.h"
#include "wire/guest/guest_frames.h"
#include "wire/launcher/launcher_messages.h"
#include "wire/network/network_options.h"

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

tl::unexpected<Error> invalid_run_option(std::string message) {
  return fail(Errc::kInvalidArgument, std::move(message));
}

const Language* language_named(const std::string& typed) {
  // Contexts and templates call them that.
  const std::string name = typed == "javascript" ? "node" : typed == "shell" ? "bash" : typed;
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

Result<const Language*> choose_language(const RunCommandLine& typed) {
  if (!typed.lang.empty()) {
    const Language* language = language_named(typed.lang);
    if (language == nullptr) {
      return invalid_run_option("unknown language '" + typed.lang +
                                "'; use python, bash or javascript");
    }
    return language;
  }
  if (typed.code.has_value() || typed.file == "-") return &kLanguages[0];
  const Language* language = language_of_file(typed.file);
  if (language == nullptr) {
    if (::access(typed.file.c_str(), F_OK) != 0) {
      return fail(Errc::kNotFound,
                  Error::from_errno(typed.file.substr(0, 200)).message() + "; to run code, use -c");
    }
    return invalid_run_option("cannot tell the language of '" + typed.file +
                              "' by its extension; use --language or --exec");
  }
  return language;
}

Result<> check_readable_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fail(Error::from_errno(path));
  if (S_ISDIR(info.st_mode)) return invalid_run_option(path + " is a directory");
  if (!S_ISREG(info.st_mode)) return invalid_run_option(path + " is not a regular file");
  if (::access(path.c_str(), R_OK) != 0) return fail(Error::from_errno(path));
  return {};
}

// The line that passes these words to the program.
std::string line_with_arguments(const RunCommandLine& typed, std::span<const std::string> words) {
  constexpr std::size_t kMost = 200;
  std::string line = "glovebox run ";
  if (typed.code.has_value()) {
    line += "-c CODE";
  } else {
    line += (typed.program.empty() ? "" : "--exec ") +
            shell_quoted(typed.program.empty() ? typed.file : typed.program);
  }
  line += " --";
  for (const std::string& word : words) {
    if (line.size() + word.size() > kMost) return "`" + line + " ...`";
    line += " " + shell_quoted(word);
  }
  return "`" + line + "`";
}

// FILE is the only operand. What else was typed is meant for the program.
Result<> take_file(const std::vector<std::string>& operands, RunCommandLine& typed) {
  if (operands.empty()) return {};
  const bool has_program = typed.code.has_value() || !typed.program.empty();
  if (!has_program) typed.file = operands[0];
  const auto words = std::span(operands).subspan(has_program ? 0 : 1);
  if (words.empty()) return {};
  return invalid_run_option(
      "unexpected argument '" + words[0].substr(0, 200) +
      "': " + (has_program ? "use only one of FILE, -c and --exec; " : "") +
      "arguments of the program follow `--`: " + line_with_arguments(typed, words));
}

// The program: code of a language (from FILE, -c or standard input), or an executable in the
// sandbox.
Result<> choose_program(const RunCommandLine& typed, RunOptions& options,
                        Result<std::string> (*code_from_stdin)()) {
  ExecSpec& exec = options.request.exec;
  const int sources = (typed.file.empty() ? 0 : 1) + (typed.code.has_value() ? 1 : 0) +
                      (typed.program.empty() ? 0 : 1);
  if (sources == 0 && !typed.image.empty()) {
    // The words behind "--", or else what the image says.
    exec.argv = typed.args;
    return {};
  }
  if (sources == 0)
    return invalid_run_option(
        "nothing to run: give a FILE, -c CODE, - for standard input, or --exec PROGRAM");
  if (sources > 1)
    return invalid_run_option(
        "use only one of FILE, -c and --exec (arguments of the program follow --)");
  if (!typed.program.empty()) {
    if (!typed.lang.empty()) return invalid_run_option("--language and --exec cannot be combined");
    exec.argv = {typed.program};
  } else {
    TRY(const Language* language, choose_language(typed));
    options.language = language->name;
    if (!options.is_remote && ::access(language->program, X_OK) != 0) {
      return invalid_run_option(std::string(language->name) + " is not installed on this host (" +
                                language->program + ")");
    }
    FileIn code{.host = "", .guest = GuestPath::parse("main").value(), .content = std::nullopt};
    std::string name = std::string("main") + language->extension;
    if (typed.code.has_value()) {
      code.content = *typed.code;
    } else if (typed.file == "-") {
      TRY(code.content, code_from_stdin());
      options.stdin_is_code = true;
    } else {
      TRY_OK(check_readable_file(typed.file));
      code.host = typed.file;
      name = base_name(typed.file);
    }
    TRY(code.guest, GuestPath::parse(name));
    if (code.content && code.content->size() > kMaxCodeBytes)
      return invalid_run_option("the code is larger than 16M");
    if (code.content && code.content->find('\0') != std::string::npos)
      return invalid_run_option("the code contains a NUL byte");
    exec.argv = {language->program, code.guest.str()};
    options.request.files_in.push_back(std::move(code));
  }
  exec.argv.insert(exec.argv.end(), typed.args.begin(), typed.args.end());
  return {};
}

Result<std::uint32_t> parse_positive_count(const std::string& text, const char* what,
                                           std::uint32_t most) {
  std::uint64_t value = 0;
  bool good = !text.empty() && text.size() <= 9;
  for (const char c : text) {
    good = good && c >= '0' && c <= '9';
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (!good || value == 0 || value > most) {
    return invalid_run_option(std::string(what) + " must be a whole number from 1 to " +
                              std::to_string(most));
  }
  return static_cast<std::uint32_t>(value);
}

Result<std::uint32_t> parse_cpus(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool plain = text.find_first_not_of("0123456789.") == std::string::npos;
  if (text.empty() || *end != '\0' || !plain || !(value >= 0.01) || value > 1024) {
    return invalid_run_option("--cpus must be a number from 0.01 to 1024, like 0.5 or 2");
  }
  return static_cast<std::uint32_t>(std::lround(value * 1000));
}

Result<> set_limits(const RunCommandLine& typed, RunOptions& options) {
  Limits& limits = options.request.sandbox.limits;
  const auto named = [](const char* option) {
    return [option](Error error) { return std::move(error).context(option); };
  };
  if (!typed.timeout.empty()) {
    TRY(limits.wall, parse_duration(typed.timeout).map_error(named("--timeout")));
    limits.mark_asked_for(LimitKind::kWall);
  }
  if (!typed.cpu_time.empty()) {
    TRY(limits.cpu_time, parse_duration(typed.cpu_time).map_error(named("--cpu-time")));
    limits.mark_asked_for(LimitKind::kCpuTime);
  }
  if (!typed.memory.empty()) {
    TRY(limits.memory_bytes, parse_size(typed.memory).map_error(named("--memory")));
    if (limits.memory_bytes < (8u << 20)) return invalid_run_option("--memory must be at least 8M");
    limits.mark_asked_for(LimitKind::kMemory);
  }
  if (!typed.disk.empty()) {
    TRY(limits.disk_bytes, parse_size(typed.disk).map_error(named("--disk")));
    if (limits.disk_bytes < (1u << 20)) return invalid_run_option("--disk must be at least 1M");
    limits.mark_asked_for(LimitKind::kDisk);
  }
  if (!typed.pids.empty()) {
    TRY(limits.pids, parse_positive_count(typed.pids, "--pids", 1'000'000));
    // The agent and the program itself count as two.
    if (limits.pids < 2) return invalid_run_option("--pids must be at least 2");
    limits.mark_asked_for(LimitKind::kPids);
  }
  if (!typed.cpus.empty()) {
    TRY(limits.cpu_thousandths, parse_cpus(typed.cpus));
    limits.mark_asked_for(LimitKind::kCpus);
  }
  if (!typed.output_limit.empty()) {
    TRY(options.request.output_limit,
        parse_size(typed.output_limit).map_error(named("--output-limit")));
  } else if (typed.json) {
    options.request.output_limit = kDefaultJsonOutput;
  }
  return {};
}

// "ro:/host[:/guest]"
Result<MountSpec> parse_mount(const std::string& text) {
  const std::string mistake =
      "--mount " + text + ": expected ro:/host/dir or rw:/host/dir:/guest/dir";
  if (text.size() < 4 || (text.rfind("ro:", 0) != 0 && text.rfind("rw:", 0) != 0))
    return invalid_run_option(mistake);
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
    return invalid_run_option("--mount " + host + ": not a directory or regular file");
  }
  TRY(GuestPath guest_path, GuestPath::parse(guest.empty() ? absolute : guest));
  return MountSpec{text[1] == 'o' ? MountMode::kReadOnly : MountMode::kReadWrite, absolute,
                   guest_path};
}

// Checks before the run that a file can be copied out to `path`.
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
      return invalid_run_option("--out " + path + " is a directory; give a file name");
    if (!S_ISREG(info.st_mode))
      return invalid_run_option("--out " + path + " is not a regular file");
  }
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(parent.c_str(), W_OK | X_OK) != 0) return fail(Error::from_errno("--out " + path));
  return path;
}

Result<> set_files(const RunCommandLine& typed, RunOptions& options) {
  for (const std::string& text : typed.mounts) {
    TRY(MountSpec mount, parse_mount(text));
    options.request.sandbox.mounts.push_back(std::move(mount));
  }
  if (typed.mounts.size() > wire::kMaxMounts)
    return invalid_run_option("--mount can be used at most 16 times");
  for (const std::string& text : typed.files_in) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
      return invalid_run_option("--file " + text + ": expected host/file:/guest/file");
    }
    FileIn file{.host = text.substr(0, colon),
                .guest = GuestPath::parse("x").value(),
                .content = std::nullopt};
    TRY_OK(check_readable_file(file.host));
    TRY(file.guest, GuestPath::parse(text.substr(colon + 1)));
    options.request.files_in.push_back(std::move(file));
  }
  for (const std::string& text : typed.files_out) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
      return invalid_run_option("--out " + text + ": expected /guest/file:host/file");
    }
    TRY(GuestPath guest, GuestPath::parse(text.substr(0, colon)));
    TRY(std::string host, parse_out_target(text.substr(colon + 1)));
    options.request.files_out.push_back({std::move(guest), std::move(host)});
  }
  return {};
}

Result<> set_environment(const RunCommandLine& typed, RunOptions& options) {
  ExecSpec& exec = options.request.exec;
  // The caller's environment is not passed on.
  exec.env = base_environment();
  if (typed.terminal) {
    const char* term = std::getenv("TERM");
    exec.env.push_back(std::string("TERM=") + (term != nullptr ? term : "xterm"));
  }
  options.own_env = typed.env;
  for (const std::string& variable : typed.env) {
    TRY(const options::NamedValue pair, options::parse_named_value(variable, "--env"));
    const std::string prefix = pair.name + "=";
    std::erase_if(exec.env, [&](const std::string& old) { return old.rfind(prefix, 0) == 0; });
    exec.env.push_back(variable);
  }
  if (!typed.workdir.empty()) {
    TRY(const GuestPath workdir, GuestPath::parse(typed.workdir));
    exec.workdir = workdir.str();
  }
  std::size_t bytes = 0;
  for (const auto* list : {&exec.argv, &exec.env}) {
    for (const std::string& text : *list) bytes += text.size() + 1;
  }
  if (bytes > wire::kMaxExecBytes || exec.argv.size() + exec.env.size() > wire::kMaxExecStrings) {
    return invalid_run_option(
        "the arguments and the environment exceed 128K; use a file or standard input");
  }
  return {};
}

// Python in the process engine always has an import policy; the other engines have real isolation.
Result<> set_import_policy(const RunCommandLine& typed, RunOptions& options) {
  const bool asked = !typed.deny_imports.empty() || !typed.allow_imports.empty();
  if (typed.engine != "process") {
    if (asked) return invalid_run_option("--deny-import and --allow-import need --engine process");
    return {};
  }
  if (!typed.deny_imports.empty() && !typed.allow_imports.empty()) {
    return invalid_run_option("--deny-import and --allow-import cannot be combined");
  }
  const bool python =
      options.request.exec.argv[0] == kLanguages[0].program && typed.program.empty();
  if (!python) {
    if (asked) return invalid_run_option("--deny-import and --allow-import need Python code");
    return {};
  }
  engine::ImportPolicy policy = engine::ImportPolicy::standard();
  policy.modules.insert(policy.modules.end(), typed.deny_imports.begin(), typed.deny_imports.end());
  if (!typed.allow_imports.empty())
    policy = {engine::ImportPolicy::Mode::kAllow, typed.allow_imports};
  return engine::apply_import_policy(policy, options.request);
}

// On a server if --server, GLOVEBOX_URL or packages require one.
Result<> choose_server_or_local(const RunCommandLine& typed, RunOptions& options) {
  TRY(options.is_remote, runs_on_server(typed.where));
  options.where = typed.where;
  options.template_name = typed.template_name;
  options.image = typed.image;
  options.pull = typed.pull.empty() ? "missing" : typed.pull;
  if (!typed.pull.empty() && typed.image.empty()) return invalid_run_option("--pull needs --image");
  if (options.pull != "missing" && options.pull != "always" && options.pull != "never") {
    return invalid_run_option("--pull must be missing, always or never, not '" + typed.pull + "'");
  }
  const bool needs_server = typed.packages.is_given() || !typed.image.empty();
  options.is_private = !options.is_remote && needs_server;
  options.is_remote = options.is_remote || options.is_private;
  if (!typed.reuse.empty()) {
    const ReuseMode* mode = parse_reuse(typed.reuse);
    if (mode == nullptr) return invalid_run_option("--reuse must be never, sandbox or interpreter");
    options.reuse = *mode;
    if (!options.is_remote)
      return invalid_run_option("--reuse is only for runs on a server; use --server");
  }
  if (!options.is_remote) {
    if (typed.template_name.empty()) return {};
    return invalid_run_option("--template is only for runs on a server; use --server");
  }
  const std::string instead = typed.packages.is_given()
                                  ? "; packages are installed by a server, which a run with --with "
                                    "starts if there is no --server"
                                  : "; use --local to run on this machine";
  if (typed.terminal) return invalid_run_option("--tty is not available on a server" + instead);
  // A private server has the rights of the caller and can mount the caller's paths.
  if (!typed.mounts.empty() && !options.is_private) {
    return invalid_run_option(
        "--mount: a server only mounts what its administrator has configured (`mounts` of POST "
        "/v1/run)" +
        instead);
  }
  if (typed.engine != engine::kDefaultEngine) {
    return invalid_run_option("--engine " + typed.engine + ": a server chooses the engine itself" +
                              instead);
  }
  return {};
}

// The packages are for the language of the code: Python or Node.
Result<> set_packages(const RunCommandLine& typed, RunOptions& options) {
  if (!typed.packages.is_given()) return {};
  if (options.language != "python" && options.language != "node") {
    return invalid_run_option(
        "--with, --requirements and --lock are for Python and Node code; they cannot be combined "
        "with " +
        std::string(options.language.empty() ? "--exec" : "bash"));
  }
  if (options.language == "node") TRY_OK(check_packages_for_node(typed.packages));
  TRY(options.dependencies, wire::read_package_options(typed.packages));
  return {};
}

}  // namespace

Result<ParsedRun> parse_run_options(std::span<const std::string> args,
                                    Result<std::string> (*code_from_stdin)()) {
  RunCommandLine typed;
  const options::CommandLine command = run_command_line_of(typed);
  TRY(options::Arguments arguments, options::parse(command, args));
  if (!arguments.help.empty()) return ParsedRun{std::nullopt, std::move(arguments.help)};
  typed.args = std::move(arguments.program_arguments);
  TRY_OK(take_file(arguments.operands, typed));

  RunOptions options;
  options.json = typed.json;
  options.terminal = typed.terminal;
  options.engine = typed.engine;
  TRY_OK(engine::make_engine(typed.engine));
  TRY_OK(choose_server_or_local(typed, options));
  TRY(options.net, wire::parse_network_options(typed.net, typed.net_deny));
  if (!options.net.is_none() && typed.engine == "process") {
    return invalid_run_option(
        "--net needs --engine jail: the process engine cannot enforce a network policy");
  }
  if (!typed.min_grade.empty()) {
    const Grade* grade = parse_grade(typed.min_grade);
    if (grade == nullptr) {
      return invalid_run_option("unknown grade '" + typed.min_grade +
                                "'; use process, jail-partial, jail, user-kernel or vm");
    }
    options.request.min_grade = *grade;
  }
  if (typed.json && typed.terminal)
    return invalid_run_option("--json and --tty cannot be combined");
  TRY_OK(set_limits(typed, options));
  TRY_OK(set_files(typed, options));
  TRY_OK(choose_program(typed, options, code_from_stdin));
  TRY_OK(set_packages(typed, options));
  TRY_OK(set_import_policy(typed, options));
  TRY_OK(set_environment(typed, options));
  return ParsedRun{std::move(options), ""};
}

}  // namespace glovebox::cli
