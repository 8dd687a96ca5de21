#include "bench/profile/server_processes.h"

#include <string>

#include "bench/process_tree.h"

namespace glovebox::bench {

const char* name_of(Role role) {
  switch (role) {
    case Role::kServer:
      return "server";
    case Role::kLauncher:
      return "launcher";
    case Role::kSandboxSetup:
      return "broker+agent";
    case Role::kInterpreter:
      return "interpreter";
    case Role::kGateway:
      return "gateway";
  }
  return "";
}

std::vector<ServerProcess> server_processes(const ServerPids& pids) {
  std::vector<ServerProcess> found = {{pids.supervisor, Role::kServer},
                                      {pids.server, Role::kServer},
                                      {pids.launcher, Role::kLauncher}};
  if (pids.gateway > 0) found.push_back({pids.gateway, Role::kGateway});
  for (const pid_t pid : process_tree(pids.launcher)) {
    if (pid == pids.launcher) continue;
    const std::string name = proc_text("/proc/" + std::to_string(pid) + "/comm");
    const bool interprets = name.starts_with("python") || name.starts_with("node");
    found.push_back({pid, interprets ? Role::kInterpreter : Role::kSandboxSetup});
  }
  return found;
}

}  // namespace glovebox::bench
