// The processes of a server, by what they are for.
#pragma once

#include <sys/types.h>

#include <vector>

namespace glovebox::bench {

enum class Role { kServer, kLauncher, kSandboxSetup, kInterpreter, kGateway };
inline constexpr unsigned kRoles = 5;
// "server", "launcher", "broker+agent", "interpreter", "gateway".
const char* name_of(Role role);

// Where the tree begins, and who is who in it.
struct ServerPids {
  pid_t supervisor = 0;
  pid_t server = 0;
  pid_t launcher = 0;
  pid_t gateway = 0;
};

struct ServerProcess {
  pid_t pid = 0;
  Role role = Role::kServer;
};

// All that are alive, the sandboxes that wait for runs included. The supervisor belongs to the
// server; below the launcher are interpreters, and brokers and agents.
std::vector<ServerProcess> server_processes(const ServerPids& pids);

}  // namespace glovebox::bench
