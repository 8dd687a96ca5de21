#include "probe/cgroup_layout.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace glovebox::probe {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  std::istringstream in{std::string(text)};
  while (std::getline(in, part, separator)) parts.push_back(part);
  return parts;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::string_view CgroupLayout::name() const {
  if (usable_v2()) return "v2";
  if (v1_mounts.empty()) return v2_mount.empty() ? "none" : "v2 without controllers";
  return v2_mount.empty() ? "v1" : "hybrid";
}

CgroupLayout parse_cgroup_mounts(std::string_view mountinfo) {
  CgroupLayout layout;
  for (const std::string& line : split(mountinfo, '\n')) {
    // "36 31 0:34 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> left = split(line.substr(0, dash), ' ');
    const std::vector<std::string> right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    if (right[0] == "cgroup2" && layout.v2_mount.empty()) layout.v2_mount = left[4];
    if (right[0] != "cgroup") continue;
    for (const std::string& option : split(right[2], ',')) {
      for (const char* controller : {"memory", "pids", "cpu", "cpuacct", "freezer"}) {
        if (option == controller) layout.v1_mounts.emplace(controller, left[4]);
      }
    }
  }
  return layout;
}

bool controllers_suffice(std::string_view cgroup_controllers) {
  bool memory = false;
  bool pids = false;
  for (std::string& word : split(cgroup_controllers, ' ')) {
    if (!word.empty() && word.back() == '\n') word.pop_back();
    memory = memory || word == "memory";
    pids = pids || word == "pids";
  }
  return memory && pids;
}

CgroupLayout detect_cgroup_layout() {
  CgroupLayout layout = parse_cgroup_mounts(read_file("/proc/self/mountinfo"));
  if (!layout.v2_mount.empty()) {
    layout.v2_has_controllers =
        controllers_suffice(read_file(layout.v2_mount + "/cgroup.controllers"));
  }
  return layout;
}

}  // namespace glovebox::probe
