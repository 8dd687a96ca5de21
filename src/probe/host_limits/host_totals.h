// How many processes and how much memory all sandboxes of this host may have together, so that the
// host itself, and the programs of Glovebox, never run short because of them.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/cgroups/cgroup_layout.h"

namespace glovebox::probe {

// What the kernel says; nothing where it does not.
struct HostSizes {
  std::optional<std::int64_t> pid_max{};
  std::optional<std::int64_t> threads_max{};
  std::optional<std::int64_t> cgroup_pids{};  // of the cgroup that we are confined to, if any
  std::optional<std::int64_t> memory_bytes{};
  std::optional<std::int64_t> cgroup_memory_bytes{};
};

HostSizes probe_host_sizes(const CgroupLayout& layout);

// Zero: unknown. An eighth of the processes stays with the host, and at least 1,024 of a larger
// number; of the memory a sixteenth, and at least 512 MB.
std::uint32_t pids_for_sandboxes(const HostSizes& sizes);
std::uint64_t memory_for_sandboxes(const HostSizes& sizes);

}  // namespace glovebox::probe
