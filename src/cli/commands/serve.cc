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

struct ServeOptions {
  config::SettingFlags settings;
  bool stop = false;
  bool is_private = false;
};

options::CommandLine serve_command_line(ServeOptions& serve) {
  return {.name = "glovebox serve",
          .usage = {"[OPTIONS]"},
          .description =
              "Serve the API: start a launcher and an unprivileged server and keep them running. "
              "Settings come from a file, GLOVEBOX_* variables and these options, in rising "
              "precedence.",
          .groups =
              {{"Options",
                {{"--stop", "",
                  "stop the server of this data directory, including processes that a killed "
                  "`glovebox serve` has left (a new one would adopt them)",
                  &serve.stop},
                 {"--private", "",
                  "for a program that needs a server of its own: use a free port and a temporary "
                  "data directory, print one line of JSON (url, api_key, pid) when ready, and end "
                  "with standard input. Clients may mount what the user who starts it can open",
                  &serve.is_private}}},
               {"Settings", serve.settings.options()}},
          .notes =
              "SIGTERM or Ctrl-C finishes the running work (server.stop_timeout) and ends; a "
              "second one\n"
              "ends at once. SIGHUP reloads the templates.\n\n"
              "Exit status: 0 stopped, 1 it cannot serve, 2 bad usage.\n"};
}

int report_failure(const std::string& message) {
  std::fprintf(stderr, "glovebox: %s\n", printable(message).c_str());
  return 1;
}

std::string already_running_message(const supervisor::DataDir& data) {
  std::string message = "a server is already running on " + data.path();
  const auto holder = supervisor::find_lock_holder(data.lock_fd());
  if (holder) message += " (process " + std::to_string(holder->pid) + ")";
  // Only if the file is from that process and not from one that was killed.
  const auto info = data.read_serve_info();
  if (info && holder && info->supervisor_pid == holder->pid) message += " at " + info->url;
  return message + "; `glovebox serve --stop` stops it";
}

// The data directory of a private server; the destructor removes it.
class PrivateDirectory {
 public:
  static Result<PrivateDirectory> make() {
    std::string path = "/tmp/glovebox-private-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)
      return fail(Error::from_errno("create a directory in /tmp"));
    // The server runs as another user and must be able to enter it.
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

// For the terminal in which the server was started.
supervisor::Supervisor::Greeting greeting_for(const config::LoadedSettings& config,
                                              const supervisor::DataDir& data) {
  const bool usual = std::any_of(config.table.begin(), config.table.end(), [](const auto& entry) {
    return entry.key->name == "server.data_dir" && entry.origin == "default";
  });
  const std::string prefix = usual ? "" : "GLOVEBOX_DATA_DIR=" + data.path() + " ";
  return [prefix, key = data.admin_key()](const std::string& url) {
    return "Glovebox serves at " + url + "\nIts console is at " + url + "/console/; `" + prefix +
           "glovebox console` opens it, signed in\nThe admin key is in " + key +
           "\n\nTry, in another terminal:\n  " + prefix +
           "glovebox run --server -c 'print(1+1)'\n  curl -H \"X-API-Key: $(cat " + key +
           ")\" -H 'Content-Type: application/json' \\\n"
           "       -d '{\"language\":\"python\",\"code\":\"1+1\"}' " +
           url + "/v1/run\n\nFor E2B clients (docs/api/e2b.md):\n  export E2B_API_KEY=$(" + prefix +
           "glovebox key show --e2b)\n  export E2B_API_URL=" + url +
           "\n  export E2B_SANDBOX_URL=" + url + "\n\nPress Ctrl-C to stop.\n";
  };
}

void set_setting(std::vector<config::SettingValue>& values, const char* name, std::string value) {
  values.push_back({config::find_key(name), std::move(value), "--private"});
}

int serve_privately(config::SettingFlags flags) {
  auto directory = PrivateDirectory::make();
  if (!directory) return report_failure(directory.error().message());
  // Defaults, which the user's options override. The launcher needs a few sandboxes besides those
  // of the pools, because some are always being created or removed.
  const std::uint32_t sandboxes = supervisor::kPrivateSandboxes - 8;
  std::vector<config::SettingValue> values;
  set_setting(values, "log.level", "warn");
  set_setting(values, "log.requests", "false");
  set_setting(values, "pools.max_sandboxes", std::to_string(sandboxes));
  values.insert(values.end(), flags.values.begin(), flags.values.end());
  // These override everything else.
  set_setting(values, "server.listen", "127.0.0.1:0");
  set_setting(values, "server.tls_cert", "");
  set_setting(values, "server.tls_key", "");
  set_setting(values, "server.data_dir", directory->path());
  flags.values = std::move(values);
  auto config = config::load(std::move(flags), config::ProcessEnvironment::current());
  if (!config) return usage_error(config.error().message());
  if (const auto servable = config::check_servable(*config); !servable) {
    return usage_error(servable.error().message());
  }
  ::setenv("GLOVEBOX_LOG", config->settings.log_level.c_str(), 1);
  ::setenv("GLOVEBOX_LOG_FORMAT", config->settings.log_format.c_str(), 1);
  auto data = supervisor::DataDir::open(config->settings.data_dir);
  if (!data) return report_failure(data.error().message());
  const auto is_ours = data->try_lock();
  if (!is_ours || !*is_ours) return report_failure("cannot lock " + directory->path());
  supervisor::Supervisor supervisor(std::move(*config), std::move(*data), kVersion);
  supervisor.make_private(UniqueFd(::fcntl(0, F_DUPFD_CLOEXEC, 3)));
  const auto served = supervisor.run(supervisor::AfterStart::kServe);
  return served ? 0 : report_failure(served.error().message());
}

}  // namespace

int serve_command(std::span<const std::string> args) {
  ServeOptions serve;
  options::Arguments arguments;
  if (const auto status = parse_arguments(serve_command_line(serve), args, arguments)) {
    return *status;
  }
  if (serve.is_private && serve.stop) return usage_error("--private and --stop cannot be combined");
  if (serve.is_private) return serve_privately(std::move(serve.settings));
  auto config = config::load(std::move(serve.settings), config::ProcessEnvironment::current());
  if (!config) return usage_error(config.error().message());
  if (const auto servable = config::check_servable(*config); !serve.stop && !servable) {
    return usage_error(servable.error().message());
  }
  // This process reads its log level from there too, when it logs the first line.
  ::setenv("GLOVEBOX_LOG", config->settings.log_level.c_str(), 1);
  ::setenv("GLOVEBOX_LOG_FORMAT", config->settings.log_format.c_str(), 1);
  auto data = supervisor::DataDir::open(config->settings.data_dir);
  if (!data) return report_failure(data.error().message());
  if (serve.stop) {
    const auto stopped = supervisor::stop_serving(std::move(*config), std::move(*data), kVersion);
    return stopped ? 0 : report_failure(stopped.error().message());
  }
  const auto is_ours = data->try_lock();
  if (!is_ours) return report_failure(is_ours.error().message());
  if (!*is_ours) return report_failure(already_running_message(*data));
  auto greeting = greeting_for(*config, *data);
  supervisor::Supervisor supervisor(std::move(*config), std::move(*data), kVersion);
  supervisor.set_greeting(std::move(greeting));
  supervisor.adopt();
  const auto served = supervisor.run(supervisor::AfterStart::kServe);
  return served ? 0 : report_failure(served.error().message());
}

}  // namespace glovebox::cli
