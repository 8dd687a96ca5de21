#include "cli/remote_run.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/base64.h"
#include "base/unique_fd.h"
#include "base/utf8.h"
#include "base/write_all.h"
#include "cli/client_program.h"
#include "cli/print.h"
#include "model/wall.h"
#include "wire/network/net_policy_json.h"
#include "wire/packages/dependencies_json.h"

namespace glovebox::cli {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kBytesPerMegabyte = 1u << 20;
constexpr std::uint64_t kMaxOutputKb = 16 * 1024;
// The administrator limits what a server accepts; this limits what is read before sending it.
constexpr std::size_t kMaxSentBytes = 256u << 20;

Result<std::string> read_to_end(int fd, const std::string& what) {
  std::string bytes;
  char part[65536];
  while (true) {
    const ssize_t got = ::read(fd, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("read " + what));
    if (got == 0) return bytes;
    bytes.append(part, static_cast<std::size_t>(got));
    if (bytes.size() > kMaxSentBytes) {
      return fail(Errc::kInvalidArgument, what + " exceeds 256M, which is too large for a server");
    }
  }
}

struct FileContent {
  std::string bytes;
  bool executable = false;
};

Result<FileContent> content_of(const FileIn& file) {
  if (file.content) return FileContent{*file.content, false};
  const UniqueFd source(::open(file.host.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) return fail(Error::from_errno("read " + file.host));
  struct stat info {};
  if (::fstat(source.get(), &info) != 0) return fail(Error::from_errno("read " + file.host));
  TRY(std::string bytes, read_to_end(source.get(), file.host));
  return FileContent{std::move(bytes), (info.st_mode & 0111) != 0};
}

void add_bytes(json::object& object, const std::string& name, const std::string& bytes) {
  if (is_utf8(bytes)) {
    object[name] = bytes;
  } else {
    object[name + "_base64"] = base64_encode(bytes);
  }
}

json::array strings_from(const std::vector<std::string>& list, std::size_t from) {
  json::array out;
  for (std::size_t i = from; i < list.size(); ++i) out.emplace_back(list[i]);
  return out;
}

// Python and JavaScript go to the warm runtimes of the server's sandboxes. Code that those do not
// accept is sent as a file and a command, as in a local run.
bool is_code_for_runtime(const RunOptions& options, const FileIn& file, const std::string& code) {
  if (!is_utf8(code) || code.find('\0') != std::string::npos) return false;
  // An image has an interpreter of its own, or none; the server knows how it is called.
  if (!options.image.empty()) return true;
  return options.language == "python" ||
         (options.language == "node" && !file.guest.str().ends_with(".mjs"));
}

Result<> add_files(const RunOptions& options, json::object& body) {
  json::array files;
  const auto& list = options.request.files_in;
  for (std::size_t i = 0; i < list.size(); ++i) {
    TRY(const FileContent content, content_of(list[i]));
    const bool is_code = !options.language.empty() && i + 1 == list.size();
    if (is_code && is_code_for_runtime(options, list[i], content.bytes)) {
      body["language"] = options.language;
      body["code"] = content.bytes;
      continue;
    }
    json::object file{{"path", list[i].guest.str()}};
    add_bytes(file, "content", content.bytes);
    if (content.executable) file["mode"] = "755";
    files.push_back(std::move(file));
  }
  if (!files.empty()) body["files"] = std::move(files);
  const std::vector<std::string>& argv = options.request.exec.argv;
  if (!body.contains("code") && argv.empty()) return {};  // an image's own program
  if (!body.contains("code")) {
    body["command"] = strings_from(argv, 0);
  } else if (argv.size() > 2) {
    body["args"] = strings_from(argv, 2);
  }
  return {};
}

Result<json::object> run_profile_json(const RunOptions& options) {
  const Limits& limits = options.request.sandbox.limits;
  json::object profile;
  const auto asked = [&](LimitKind kind) { return limits.was_asked_for(kind); };
  if (asked(LimitKind::kWall)) profile["timeout_ms"] = limits.wall.count();
  if (asked(LimitKind::kCpuTime)) profile["cpu_ms"] = limits.cpu_time.count();
  // Rounded down to whole megabytes.
  if (asked(LimitKind::kMemory)) profile["memory_mb"] = limits.memory_bytes / kBytesPerMegabyte;
  if (asked(LimitKind::kDisk)) profile["disk_mb"] = limits.disk_bytes / kBytesPerMegabyte;
  if (asked(LimitKind::kPids)) profile["pids"] = limits.pids;
  if (asked(LimitKind::kCpus)) profile["cpus"] = limits.cpu_thousandths / 1000.0;
  const std::uint64_t output = options.request.output_limit.value_or(kMaxOutputKb * 1024);
  if (output > kMaxOutputKb * 1024) {
    return fail(Errc::kInvalidArgument, "--output-limit: a server returns at most 16M");
  }
  if (!options.net.is_none()) profile["net"] = wire::net_policy_json(options.net);
  if (!options.dependencies.empty()) {
    profile["dependencies"] = wire::dependencies_json(options.dependencies);
  }
  if (!options.image.empty()) profile["image"] = options.image;
  json::array mounts;
  for (const MountSpec& mount : options.request.sandbox.mounts) {
    mounts.push_back({{"name", mount.host},
                      {"path", mount.guest.str()},
                      {"mode", mount.mode == MountMode::kReadWrite ? "rw" : "ro"}});
  }
  if (!mounts.empty()) profile["mounts"] = std::move(mounts);
  if (options.reuse != ReuseMode::kNever) profile["reuse"] = reuse_name(options.reuse);
  profile["output_kb"] = std::max<std::uint64_t>((output + 1023) / 1024, 1);
  return profile;
}

json::object variables_json(const RunOptions& options) {
  json::object variables;
  for (const std::string& variable : options.own_env) {
    const std::size_t equals = variable.find('=');
    variables[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return variables;
}

}  // namespace

Result<std::string> remote_body(const RunOptions& options, const std::string& input) {
  const engine::RunRequest& request = options.request;
  json::object body;
  TRY_OK(add_files(options, body));
  TRY(body["profile"], run_profile_json(options));
  // The packages are for this language's interpreter, even if that is started as a command.
  if (!options.dependencies.empty()) body["language"] = options.language;
  if (!options.template_name.empty()) body["template"] = options.template_name;
  if (!options.own_env.empty()) body["env"] = variables_json(options);
  if (!input.empty()) add_bytes(body, "stdin", input);
  if (request.exec.workdir != ExecSpec{}.workdir) body["workdir"] = request.exec.workdir;
  if (request.min_grade) body["min_grade"] = grade_name(*request.min_grade);
  if (!request.files_out.empty()) {
    json::array paths;
    for (const FileOut& file : request.files_out) paths.emplace_back(file.guest.str());
    body["return_files"] = std::move(paths);
  }
  return json::serialize(body);
}

int run_remotely(const RunOptions& options) {
  std::string input;
  if (!options.stdin_is_code && ::isatty(STDIN_FILENO) != 1) {
    auto read = read_to_end(STDIN_FILENO, "standard input");
    if (!read) return failure(read.error());
    input = std::move(*read);
  }
  const auto body = remote_body(options, input);
  if (!body) {
    return body.error().code() == Errc::kInvalidArgument ? usage_error(body.error().message())
                                                         : failure(body.error());
  }
  // Without CLOEXEC: the client program inherits it.
  const UniqueFd file(::memfd_create("glovebox-run", 0));
  if (!file) return failure(Error::from_errno("memfd_create"));
  if (auto written = write_all(file.get(), *body); !written) return failure(written.error());
  std::vector<std::string> args = {"--body-fd", std::to_string(file.get())};
  if (options.json) args.emplace_back("--json");
  const std::vector<std::string> server = server_arguments(options.where);
  args.insert(args.end(), server.begin(), server.end());
  if (options.is_private) args.emplace_back("--private");
  if (!options.image.empty()) {
    args.insert(args.end(), {"--image", options.image, "--pull", options.pull});
  }
  if (options.language == "python") args.emplace_back("--python");
  if (!options.dependencies.empty() && !options.dependencies.host_packages) {
    args.emplace_back("--no-host-packages");
  }
  for (const FileOut& out : options.request.files_out) {
    args.push_back(out.guest.str() + ":" + out.host);
  }
  return exec_client_program("run", args);
}

}  // namespace glovebox::cli
