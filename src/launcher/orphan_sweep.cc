#include "launcher/orphan_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "probe/kernel_text.h"
#include "sys/remove_tree.h"

namespace glovebox::launcher {
namespace {

constexpr std::string_view kGroupPrefix = "glovebox-";
constexpr std::string_view kHomePrefix = "home-";
// A launcher's own cgroup, what is in it, and a level for whatever is between.
constexpr int kDeepest = 4;

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory open_directory(int at, const char* name) {
  const int fd = ::openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return {nullptr, ::closedir};
  DIR* opened = ::fdopendir(fd);
  if (opened == nullptr) ::close(fd);
  return {opened, ::closedir};
}

// The launcher's id in "<prefix><id>-<anything>".
std::optional<LauncherId> launcher_in(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  if (name.size() <= LauncherId::kLength || name[LauncherId::kLength] != '-') return std::nullopt;
  auto id = LauncherId::parse(name.substr(0, LauncherId::kLength));
  if (!id) return std::nullopt;
  return std::move(*id);
}

bool has_record(const std::string& base, const LauncherId& id) {
  struct stat info {};
  return ::lstat((base + "/" + id.str()).c_str(), &info) == 0 || errno != ENOENT;
}

bool is_older_than(int at, const char* name, std::chrono::seconds age) {
  struct stat info {};
  if (::fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode)) return false;
  return info.st_mtime <= ::time(nullptr) - age.count();
}

// Removes an empty cgroup with its empty children, if no launcher holds a lock on it. The kernel
// refuses to remove one with a process inside, and so do the directories above it.
bool remove_empty_group(int at, const char* name, int depth) {
  const Directory children = open_directory(at, name);
  if (!children || ::flock(::dirfd(children.get()), LOCK_EX | LOCK_NB) != 0) return false;
  if (depth < kDeepest) {
    while (const dirent* child = ::readdir(children.get())) {
      const std::string_view its_name = child->d_name;
      if (child->d_type != DT_DIR || its_name == "." || its_name == "..") continue;
      if (!remove_empty_group(::dirfd(children.get()), child->d_name, depth + 1)) return false;
    }
  }
  return ::unlinkat(at, name, AT_REMOVEDIR) == 0;
}

// Below `parent`, and below our cgroups in it that have no launcher's name.
int sweep_groups(int at, const char* parent, const std::string& base, std::chrono::seconds age,
                 int depth = 0) {
  const Directory groups = open_directory(at, parent);
  if (!groups) return 0;
  const int dir = ::dirfd(groups.get());
  int removed = 0;
  while (const dirent* entry = ::readdir(groups.get())) {
    const std::string_view name = entry->d_name;
    if (entry->d_type != DT_DIR || !name.starts_with("glovebox")) continue;
    const auto launcher = launcher_in(name, kGroupPrefix);
    if (!launcher) {
      if (depth < kDeepest) removed += sweep_groups(dir, entry->d_name, base, age, depth + 1);
    } else if (!has_record(base, *launcher) && is_older_than(dir, entry->d_name, age) &&
               remove_empty_group(dir, entry->d_name, 0)) {
      ++removed;
    }
  }
  return removed;
}

std::vector<std::string> hierarchies_of(const sys::CgroupRoots& roots) {
  std::vector<std::string> parents = {roots.v2,     roots.v1_memory,  roots.v1_pids,
                                      roots.v1_cpu, roots.v1_cpuacct, roots.v1_freezer};
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  std::erase(parents, "");
  return parents;
}

bool has_process_of(uid_t uid) {
  const Directory proc = open_directory(AT_FDCWD, "/proc");
  if (!proc) return true;
  while (const dirent* entry = ::readdir(proc.get())) {
    struct stat info {};
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    if (::fstatat(::dirfd(proc.get()), entry->d_name, &info, 0) == 0 && info.st_uid == uid) {
      return true;
    }
  }
  return false;
}

// A home that is in use is locked by its launcher (make_home()). A sandbox's uid is its own, so an
// unlocked home without a process of its owner is no sandbox's any more.
int sweep_homes(const OrphanPaths& paths, std::chrono::seconds age) {
  const Directory homes = open_directory(AT_FDCWD, paths.homes.c_str());
  if (!homes) return 0;
  int removed = 0;
  while (const dirent* entry = ::readdir(homes.get())) {
    const auto launcher = launcher_in(entry->d_name, kHomePrefix);
    struct stat info {};
    if (!launcher || has_record(paths.base, *launcher) ||
        !is_older_than(::dirfd(homes.get()), entry->d_name, age) ||
        ::fstatat(::dirfd(homes.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    const Directory home = open_directory(::dirfd(homes.get()), entry->d_name);
    if (!home || ::flock(::dirfd(home.get()), LOCK_EX | LOCK_NB) != 0) continue;
    if (::unlinkat(::dirfd(homes.get()), entry->d_name, AT_REMOVEDIR) == 0) {
      ++removed;
    } else if (!has_process_of(info.st_uid) &&
               sys::remove_tree(paths.homes + "/" + entry->d_name)) {
      ++removed;
    }
  }
  return removed;
}

// In mountinfo, a space and three other characters are \ and three octal digits.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Whether a process that we can see holds a lock on the directory that is below a mount. Its inode
// cannot be opened there, but is in the list of the directory above.
bool covered_record_is_locked(const std::string& base, const LauncherId& id) {
  const Directory records = open_directory(AT_FDCWD, base.c_str());
  struct stat info {};
  if (!records || ::fstat(::dirfd(records.get()), &info) != 0) return true;
  ino_t inode = 0;
  while (const dirent* entry = ::readdir(records.get())) {
    if (entry->d_name == id.str()) inode = entry->d_ino;
  }
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, " %02x:%02x:%lu ", major(info.st_dev), minor(info.st_dev),
                static_cast<unsigned long>(inode));
  const auto locks = probe::read_text("/proc/locks");
  return inode == 0 || !locks || locks->find(wanted) != std::string::npos;
}

}  // namespace

int sweep_orphaned_mounts(const std::string& base, std::string_view mountinfo) {
  // Almost always there is none. A name that mountinfo would escape is looked for line by line.
  const bool is_plain = base.find_first_of(" \t\n\\") == std::string::npos;
  if (is_plain && mountinfo.find(" " + base + "/") == std::string_view::npos) return 0;
  std::vector<std::string> orphaned;
  for (const std::string_view line : probe::split(mountinfo, '\n')) {
    const auto fields = probe::words(line);
    if (fields.size() < 5) continue;
    const std::string point = unescaped(fields[4]);
    if (!point.starts_with(base + "/")) continue;
    const auto id =
        LauncherId::parse(std::string_view(point).substr(base.size() + 1, LauncherId::kLength));
    const std::size_t end = base.size() + 1 + LauncherId::kLength;
    if (!id || (point.size() > end && point[end] != '/')) continue;
    if (!covered_record_is_locked(base, *id)) orphaned.push_back(point);
  }
  // Those that were mounted last are on top.
  std::reverse(orphaned.begin(), orphaned.end());
  int removed = 0;
  for (const std::string& point : orphaned) {
    if (::umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) ++removed;
  }
  if (removed > 0) {
    log::info("unmounted what a dead launcher left", {{"mounts", std::to_string(removed)}});
  }
  return removed;
}

std::vector<UniqueFd> lock_own_cgroups(const sys::CgroupRoots& roots, const LauncherId& id) {
  std::vector<UniqueFd> locks;
  for (const std::string& parent : hierarchies_of(roots)) {
    const Directory groups = open_directory(AT_FDCWD, parent.c_str());
    if (!groups) continue;
    while (const dirent* entry = ::readdir(groups.get())) {
      if (entry->d_type != DT_DIR || launcher_in(entry->d_name, kGroupPrefix) != id) continue;
      UniqueFd group(::openat(::dirfd(groups.get()), entry->d_name,
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
      if (group && ::flock(group.get(), LOCK_SH | LOCK_NB) == 0) locks.push_back(std::move(group));
    }
  }
  return locks;
}

SweptOrphans sweep_orphans(const OrphanPaths& paths, std::chrono::seconds age) {
  SweptOrphans swept;
  for (const std::string& parent : hierarchies_of(paths.roots)) {
    swept.cgroups += sweep_groups(AT_FDCWD, parent.c_str(), paths.base, age);
  }
  swept.homes = sweep_homes(paths, age);
  if (swept != SweptOrphans{}) {
    log::info("removed what launchers without a record left",
              {{"cgroups", std::to_string(swept.cgroups)}, {"homes", std::to_string(swept.homes)}});
  }
  return swept;
}

}  // namespace glovebox::launcher
