#include "probe/host_limits/host_totals.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>

#include "probe/kernel_text.h"

namespace glovebox::probe {
namespace {

std::optional<std::int64_t> least_of(std::initializer_list<std::optional<std::int64_t>> values) {
  std::optional<std::int64_t> least;
  for (const auto& value : values) {
    if (value && *value > 0) least = std::min(least.value_or(*value), *value);
  }
  return least;
}

std::int64_t without_headroom(std::int64_t all, std::int64_t part, std::int64_t at_least) {
  return all - std::max(all / part, std::min(at_least, all / 4));
}

}  // namespace

HostSizes probe_host_sizes(const CgroupLayout& layout) {
  HostSizes sizes;
  sizes.pid_max = read_number("/proc/sys/kernel/pid_max");
  sizes.threads_max = read_number("/proc/sys/kernel/threads-max");
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) {
    sizes.memory_bytes = static_cast<std::int64_t>(info.totalram * info.mem_unit);
  }
  // In a container the root that we see has the container's bounds ("max": none); a host's real
  // root has no such files.
  if (layout.usable_v2()) {
    sizes.cgroup_pids = read_number(layout.v2_mount + "/pids.max");
    sizes.cgroup_memory_bytes = read_number(layout.v2_mount + "/memory.max");
    return sizes;
  }
  const auto mount_of = [&layout](const char* controller) {
    const auto found = layout.v1_mounts.find(controller);
    return found != layout.v1_mounts.end() ? found->second : std::string("/nonexistent");
  };
  sizes.cgroup_pids = read_number(mount_of("pids") + "/pids.max");
  sizes.cgroup_memory_bytes = read_number(mount_of("memory") + "/memory.limit_in_bytes");
  return sizes;
}

std::uint32_t pids_for_sandboxes(const HostSizes& sizes) {
  const auto all = least_of({sizes.pid_max, sizes.threads_max, sizes.cgroup_pids});
  if (!all) return 0;
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(without_headroom(*all, 8, 1024), std::numeric_limits<int>::max()));
}

std::uint64_t memory_for_sandboxes(const HostSizes& sizes) {
  const auto all = least_of({sizes.memory_bytes, sizes.cgroup_memory_bytes});
  return all ? static_cast<std::uint64_t>(without_headroom(*all, 16, 512ll << 20)) : 0;
}

}  // namespace glovebox::probe
