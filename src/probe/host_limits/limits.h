// Ceilings of the kernel that many sandboxes share: warns of small ones before they are reached.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/finding.h"
#include "probe/host_limits/shares.h"

namespace glovebox::probe {

struct SysctlLimit {
  std::string sysctl{};  // "user.max_user_namespaces"
  std::optional<std::int64_t> value{};
};

struct LimitFacts {
  std::vector<SysctlLimit> ceilings{};
  HostTables tables{};
  std::uint32_t sandbox_pids = 0;  // processes of all sandboxes together; 0: unknown
  std::uint64_t open_files_soft = 0;
  std::uint64_t open_files_hard = 0;
};

LimitFacts probe_limits();
void explain(const LimitFacts& facts, Findings& findings);

// "fs.inotify.max_user_watches" -> "/proc/sys/fs/inotify/max_user_watches"
std::string sysctl_path(const std::string& name);

}  // namespace glovebox::probe
