// Starts and cleans up after sandboxes of the process engine: an agent that is an ordinary process
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
  std::optional<std::uint32_t> host_uid;  // none: we are an ordinary user ourselves
  std::string home;                       // made here, 0700
};

// The agent's process, in its cgroups, executed; `setup` and `link` are its ends.
Result<UniqueFd> start_process_agent(const ProcessStart& start, const UniqueFd& agent,
                                     const sys::Cgroup& cgroup, int setup, int link);

// Kills whatever is left of it and removes its directory.
void clean_up_process(const ProcessStart& start);

}  // namespace glovebox::launcher
