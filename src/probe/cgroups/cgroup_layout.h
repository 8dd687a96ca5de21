// Where this host keeps its cgroups: pure v2, v1, or both at once (hybrid), as /proc says.
// Read-only: joining and limiting is sys/cgroup.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace glovebox::probe {

struct CgroupLayout {
  std::string v2_mount;                          // empty: no v2 tree
  bool v2_has_controllers = false;               // memory and pids are to be had there
  std::map<std::string, std::string> v1_mounts;  // controller -> mount point
  // Mount point -> the cgroup that is mounted there: "/", or a container's own.
  std::map<std::string, std::string> mounted_groups;

  bool usable_v2() const { return !v2_mount.empty() && v2_has_controllers; }
  // "v2", "hybrid", "v1" or "none".
  std::string_view name() const;
};

CgroupLayout detect_cgroup_layout();
// For who needs the text for something else as well: the kernel writes it anew for each reader.
std::string read_mountinfo();
CgroupLayout detect_cgroup_layout(std::string_view mountinfo);

// The parts, for other hosts' texts in tests.
CgroupLayout parse_cgroup_mounts(std::string_view mountinfo);
bool controllers_suffice(std::string_view cgroup_controllers);

}  // namespace glovebox::probe
