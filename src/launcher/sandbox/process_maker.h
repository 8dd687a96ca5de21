// Starts sandboxes of the process engine and cleans up after them: the agent is an ordinary process
// of an ordinary user, with a directory of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

struct ProcessStart {
  std::optional<std::uint32_t> host_uid;  // none: the launcher is an ordinary user itself
  std::string home;                       // created here, mode 0700
  UniqueFd home_lock{};                   // see make_home()
};

// Creates the directory `path` of a sandbox, for `owner` if there is one. The returned descriptor
// holds a lock that keeps other launchers' sweeps away (orphan_sweep.h), also from an empty one.
Result<UniqueFd> make_home(const std::string& path, std::optional<std::uint32_t> owner);

// Returns the pidfd of the agent, which runs in its cgroups; `setup` and `link` are the agent's
// ends of its sockets. Makes the home.
Result<UniqueFd> start_process_agent(ProcessStart& start, const UniqueFd& agent,
                                     const sys::Cgroup& cgroup, int setup, int link);

// Kills the processes that are left of it and removes its directory.
void clean_up_process(const ProcessStart& start);

}  // namespace glovebox::launcher
