// Runs a launcher from start to end, as the program glovebox-launcher or in a fork of `glovebox
// run`, which has the same privileges as its private launcher and saves an exec this way.
#pragma once

#include <string>

#include "base/result.h"
#include "launcher/nursery/template_nurseries.h"

namespace glovebox::launcher {

struct LauncherOptions {
  int client_fd = -1;  // a client that is connected already
  std::string listen;  // or: the path of a socket to listen on
  std::string policy = "/etc/glovebox/policy.toml";
  std::string templates = "/etc/glovebox/templates";
  std::string agent_path;
  ZygoteBounds zygotes;
  bool mounts_by_path = false;  // see Policy
  // Sandboxes at once of a launcher that listens, within the policy; 0: as many as that allows.
  std::uint32_t sandboxes = 0;
  pid_t owner = 0;  // the parent process: stop when it has exited; 0: outlive it
};

Result<> run_launcher(const LauncherOptions& options);

}  // namespace glovebox::launcher
