#include "probe/cgroups/own_cgroups.h"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "probe/kernel_text.h"

namespace glovebox::probe {
namespace {

// `group` is told from the root of its hierarchy, of which a container may see a part only.
std::string directory_of(const CgroupLayout& layout, const std::string& mount_point,
                         std::string_view group) {
  const auto found = layout.mounted_groups.find(mount_point);
  const std::string_view mounted =
      found != layout.mounted_groups.end() ? std::string_view(found->second) : "/";
  if (mounted != "/" && group.starts_with(mounted) &&
      (group.size() == mounted.size() || group[mounted.size()] == '/')) {
    group.remove_prefix(mounted.size());
  }
  // Outside of what is mounted here.
  if (group.starts_with("/..")) return "";
  return mount_point + std::string(group == "/" ? "" : group);
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

OwnCgroups own_cgroups_of(const CgroupLayout& layout, std::string_view proc_self_cgroup) {
  OwnCgroups own;
  for (const std::string_view line : split(proc_self_cgroup, '\n')) {
    // "4:memory:/user/alice", "0::/user.slice/..."
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view group = line.substr(second + 1);
    if (!group.starts_with("/")) continue;
    if (line.starts_with("0::")) {
      if (!layout.v2_mount.empty()) own.v2 = directory_of(layout, layout.v2_mount, group);
      continue;
    }
    for (const std::string_view name : split(line.substr(first + 1, second - first - 1), ',')) {
      const auto mounted = layout.v1_mounts.find(std::string(name));
      if (mounted == layout.v1_mounts.end()) continue;
      const std::string directory = directory_of(layout, mounted->second, group);
      if (!directory.empty()) own.v1.emplace(std::string(name), directory);
    }
  }
  return own;
}

OwnCgroups detect_own_cgroups(const CgroupLayout& layout) {
  return own_cgroups_of(layout, read_text("/proc/self/cgroup").value_or(""));
}

bool may_make_groups_in(const std::string& group) {
  return !group.empty() && ::access(group.c_str(), W_OK | X_OK) == 0 &&
         ::access((group + "/cgroup.procs").c_str(), W_OK) == 0;
}

bool is_managed_by_user_systemd(std::string_view group, uid_t uid) {
  const std::string manager = "/user@" + std::to_string(uid) + ".service/";
  return group.find(manager) != std::string_view::npos;
}

bool is_launcher_scope(std::string_view group) {
  const std::string_view name = last_name(group);
  return name.starts_with(kScopePrefix) && name.ends_with(".scope");
}

bool is_given_to_user(const std::string& group) {
  if (!may_make_groups_in(group)) return false;
  return !is_managed_by_user_systemd(group, ::geteuid()) || is_launcher_scope(group);
}

std::string without_members_group(const std::string& group) {
  if (last_name(group) != kMembersGroup) return group;
  return group.substr(0, group.rfind('/'));
}

std::string user_systemd_socket(const std::string& runtime_dir) {
  if (runtime_dir.empty()) return "";
  const std::string path = runtime_dir + "/systemd/private";
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return "";
  return info.st_uid == ::geteuid() ? path : "";
}

}  // namespace glovebox::probe
