// Ceilings of the kernel that many sandboxes share: small ones are warned of before they are hit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/finding.h"

namespace glovebox::probe {

struct Ceiling {
  std::string sysctl{};  // "fs.inotify.max_user_instances"
  std::optional<std::int64_t> value{};
};

struct LimitFacts {
  std::vector<Ceiling> ceilings{};
  std::uint64_t open_files_soft = 0;
  std::uint64_t open_files_hard = 0;
};

LimitFacts probe_limits();
void explain(const LimitFacts& facts, Findings& findings);

// "fs.inotify.max_user_watches" -> "/proc/sys/fs/inotify/max_user_watches"
std::string sysctl_path(const std::string& name);

}  // namespace glovebox::probe
