#include "cli/commands/serve.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "cli/print.h"
#include "cli/version.h"
#include "config/load.h"
#include "model/outcome.h"
#include "supervisor/stop_serving.h"
#include "supervisor/supervisor.h"

namespace glovebox::cli {
namespace {

constexpr const char* kServeUsage =
    "usage: glovebox serve [OPTIONS]\n"
    "\n"
    "Serves the API: starts a launcher and an unprivileged server and keeps them running. "
    "Settings\n"
    "come from a file, GLOVEBOX_* variables and these options, in rising precedence.\n"
    "\n";
constexpr const char* kServeHelp =
    "  --stop                 end what serves on this data directory, also what a killed\n"
    "                         `glovebox serve` left running (a new one would adopt it)\n"
    "  --private              for a program that wants a server of its own: a free port, a data\n"
    "                         directory of its own, one line of JSON (url, api_key, pid) on the\n"
    "                         standard output when ready; ends with its standard input. Its\n"
    "                         clients may mount what its starter can open\n"
    "  --help                 this text\n"
    "\n"
    "SIGTERM or Ctrl-C finishes what runs (server.stop_timeout) and ends; a second one ends at\n"
    "once. SIGHUP reads templates again. Exit status: 0 stopped, 1 it cannot serve, 2 bad usage.\n";

int serve_failed(const std::string& message) {
  std::fprintf(stderr, "glovebox: %s\n", printable(message).c_str());
  return 1;
}

std::string who_is_running(const supervisor::DataDir& data) {
  std::string message = "a server is running already on " + data.path();
  const auto holder = supervisor::find_lock_holder(data.lock_fd());
  if (holder) message += " (process " + std::to_string(holder->pid) + ")";
  // Its own words, unless a killed one left them.
  const auto info = data.read_serve_info();
  if (info && holder && info->supervisor_pid == holder->pid) message += " at " + info->url;
  return message + "; `glovebox serve --stop` ends it";
}

// The directory of a private server, gone with it.
class PrivateDirectory {
 public:
  static Result<PrivateDirectory> make() {
    std::string path = "/tmp/glovebox-private-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)
      return fail(Error::from_errno("make a directory in /tmp"));
    // The server becomes another user and must find its corner of it.
    if (::chmod(path.c_str(), 0755) != 0) return fail(Error::from_errno("chmod " + path));
    return PrivateDirectory(std::move(path));
  }
  PrivateDirectory(PrivateDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;
  ~PrivateDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

int serve_privately(std::vector<std::string> args) {
  auto directory = PrivateDirectory::make();
  if (!directory) return serve_failed(directory.error().message());
  // Its log is read when something is wrong only; whoever wants more says so after this. A few of
  // its launcher's sandboxes are always being made or removed.
  const std::uint32_t sandboxes = supervisor::kPrivateSandboxes - 8;
  args.insert(args.begin(), {"--set", "log.level=warn", "--set", "log.requests=false", "--set",
                             "pools.max_sandboxes=" + std::to_string(sandboxes)});
  // The last word is ours; what a file or the environment says of the rest holds.
  for (const char* word : {"listen=127.0.0.1:0", "tls_cert=", "tls_key="}) {
    args.insert(args.end(), {"--set", std::string("server.") + word});
  }
  args.insert(args.end(), {"--data-dir", directory->path()});
  auto config = config::load(args, config::Surroundings::here());
  if (!config) return usage_error(config.error().message());
  if (!config->rest.empty()) {
    return usage_error("--private goes with settings only, not with '" + config->rest[0] + "'");
  }
  if (const auto servable = config::check_servable(*config); !servable) {
    return usage_error(servable.error().message());
  }
  ::setenv("GLOVEBOX_LOG", config->settings.log_level.c_str(), 1);
  auto data = supervisor::DataDir::open(config->settings.data_dir);
  if (!data) return serve_failed(data.error().message());
  const auto is_ours = data->try_lock();
  if (!is_ours || !*is_ours) return serve_failed("cannot lock " + directory->path());
  supervisor::Supervisor supervisor(std::move(*config), std::move(*data), kVersion);
  supervisor.make_private(UniqueFd(::fcntl(0, F_DUPFD_CLOEXEC, 3)));
  const auto served = supervisor.run(supervisor::Then::kServe);
  return served ? 0 : serve_failed(served.error().message());
}

}  // namespace

int serve_command(std::span<const std::string> args) {
  if (std::find(args.begin(), args.end(), "--help") != args.end() ||
      std::find(args.begin(), args.end(), "-h") != args.end()) {
    std::printf("%s%s%s", kServeUsage, config::kOptionsHelp, kServeHelp);
    return 0;
  }
  if (const auto at = std::find(args.begin(), args.end(), "--private"); at != args.end()) {
    std::vector<std::string> others(args.begin(), at);
    others.insert(others.end(), at + 1, args.end());
    return serve_privately(std::move(others));
  }
  auto config = config::load(args, config::Surroundings::here());
  if (!config) return usage_error(config.error().message());
  bool is_stop = false;
  for (const std::string& word : config->rest) {
    if (word != "--stop")
      return usage_error("unknown option '" + word + "'; see `glovebox serve --help`");
    is_stop = true;
  }
  if (const auto servable = config::check_servable(*config); !is_stop && !servable) {
    return usage_error(servable.error().message());
  }
  // Ours is read from there too, at the first line that is logged.
  ::setenv("GLOVEBOX_LOG", config->settings.log_level.c_str(), 1);
  auto data = supervisor::DataDir::open(config->settings.data_dir);
  if (!data) return serve_failed(data.error().message());
  if (is_stop) {
    const auto stopped = supervisor::stop_serving(std::move(*config), std::move(*data), kVersion);
    return stopped ? 0 : serve_failed(stopped.error().message());
  }
  const auto is_ours = data->try_lock();
  if (!is_ours) return serve_failed(is_ours.error().message());
  if (!*is_ours) return serve_failed(who_is_running(*data));
  supervisor::Supervisor supervisor(std::move(*config), std::move(*data), kVersion);
  supervisor.adopt();
  const auto served = supervisor.run(supervisor::Then::kServe);
  return served ? 0 : serve_failed(served.error().message());
}

}  // namespace glovebox::cli
