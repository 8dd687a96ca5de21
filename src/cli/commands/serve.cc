#include "cli/commands/serve.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/print.h"
#include "cli/version.h"
#include "config/load.h"
#include "model/outcome.h"
#include "supervisor/supervisor.h"

namespace glovebox::cli {
namespace {

constexpr const char* kUsage =
    "usage: glovebox serve [OPTIONS]\n"
    "\n"
    "Serves the API: starts a launcher and an unprivileged server and keeps them running. "
    "Settings\n"
    "come from a file, GLOVEBOX_* variables and these options, in rising precedence.\n"
    "\n";
constexpr const char* kMore =
    "  --stop                 end what serves on this data directory, also what a killed\n"
    "                         `glovebox serve` left running (a new one would adopt it)\n"
    "  --help                 this text\n"
    "\n"
    "SIGTERM or Ctrl-C finishes what runs (server.stop_timeout) and ends; a second one ends at\n"
    "once. SIGHUP reads templates again. Exit status: 0 stopped, 1 it cannot serve, 2 bad usage.\n";

int failed(const std::string& message) {
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

}  // namespace

int serve_command(std::span<const std::string> args) {
  if (std::find(args.begin(), args.end(), "--help") != args.end() ||
      std::find(args.begin(), args.end(), "-h") != args.end()) {
    std::printf("%s%s%s", kUsage, config::kOptionsHelp, kMore);
    return 0;
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
  if (!data) return failed(data.error().message());
  if (is_stop) {
    const auto stopped = supervisor::stop_serving(std::move(*config), std::move(*data), kVersion);
    return stopped ? 0 : failed(stopped.error().message());
  }
  const auto is_ours = data->try_lock();
  if (!is_ours) return failed(is_ours.error().message());
  if (!*is_ours) return failed(who_is_running(*data));
  supervisor::Supervisor supervisor(std::move(*config), std::move(*data), kVersion);
  supervisor.adopt();
  const auto served = supervisor.run(supervisor::Then::kServe);
  return served ? 0 : failed(served.error().message());
}

}  // namespace glovebox::cli
