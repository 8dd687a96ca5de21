// A launcher's whole life, as the program glovebox-launcher or as a fork of `glovebox run`, which
// is as privileged as its own private launcher and saves an exec by being it.
#pragma once

#include <string>

#include "base/result.h"
#include "launcher/nursery/template_nurseries.h"

namespace glovebox::launcher {

struct LauncherOptions {
  int client_fd = -1;  // one client that is connected already
  std::string listen;  // or: a socket to listen on
  std::string policy = "/etc/glovebox/policy.toml";
  std::string templates = "/etc/glovebox/templates";
  std::string agent_path;
  ZygoteBounds zygotes;
  bool mounts_by_path = false;  // see Policy
  std::uint32_t sandboxes =
      0;            // at once, when it listens; 0: as the policy says, which is the most
  pid_t owner = 0;  // our parent: end when he has ended; 0: outlive him
};

Result<> run_launcher(const LauncherOptions& options);

}  // namespace glovebox::launcher
