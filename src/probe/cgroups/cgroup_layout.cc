#include "probe/cgroups/cgroup_layout.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "probe/kernel_text.h"

namespace glovebox::probe {
namespace {

std::string read_file(const std::string& path) {
  std::string text;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char part[16384];
  ssize_t got = 0;
  while (fd && (got = ::read(fd.get(), part, sizeof part)) > 0) {
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::string_view CgroupLayout::name() const {
  if (usable_v2()) return "v2";
  if (v1_mounts.empty()) return v2_mount.empty() ? "none" : "v2 without controllers";
  return v2_mount.empty() ? "v1" : "hybrid";
}

CgroupLayout parse_cgroup_mounts(std::string_view mountinfo) {
  CgroupLayout layout;
  for (const std::string_view line : split(mountinfo, '\n')) {
    // "36 31 0:34 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    if (line.substr(dash + 3, 6) != "cgroup") continue;
    const std::vector<std::string_view> left = split(line.substr(0, dash), ' ');
    const std::vector<std::string_view> right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    layout.mounted_groups.emplace(std::string(left[4]), std::string(left[3]));
    if (right[0] == "cgroup2" && layout.v2_mount.empty()) layout.v2_mount = std::string(left[4]);
    if (right[0] != "cgroup") continue;
    for (const std::string_view option : split(right[2], ',')) {
      for (const char* controller : {"memory", "pids", "cpu", "cpuacct", "freezer"}) {
        if (option == controller) layout.v1_mounts.emplace(controller, std::string(left[4]));
      }
    }
  }
  return layout;
}

bool controllers_suffice(std::string_view cgroup_controllers) {
  bool memory = false;
  bool pids = false;
  for (std::string_view word : split(cgroup_controllers, ' ')) {
    if (!word.empty() && word.back() == '\n') word.remove_suffix(1);
    memory = memory || word == "memory";
    pids = pids || word == "pids";
  }
  return memory && pids;
}

std::string read_mountinfo() { return read_file("/proc/self/mountinfo"); }

CgroupLayout detect_cgroup_layout() { return detect_cgroup_layout(read_mountinfo()); }

CgroupLayout detect_cgroup_layout(std::string_view mountinfo) {
  CgroupLayout layout = parse_cgroup_mounts(mountinfo);
  if (!layout.v2_mount.empty()) {
    layout.v2_has_controllers =
        controllers_suffice(read_file(layout.v2_mount + "/cgroup.controllers"));
  }
  return layout;
}

}  // namespace glovebox::probe
