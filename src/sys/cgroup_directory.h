// One cgroup directory: reading its files, its members, and its removal. Parts of Cgroup and
// CgroupParents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::sys {

// Nothing if the file is not there. `dir_fd` may be AT_FDCWD, with a path.
std::optional<std::uint64_t> read_cgroup_number(int dir_fd, const std::string& file);
// Of "key value" lines, as in memory.events, cpu.stat and v1's memory.oom_control; 0 if absent.
std::uint64_t read_cgroup_key(int dir_fd, const std::string& file, std::string_view key);

// Kills the processes of a cgroup; kill_cgroups_below(): also of those below it.
void kill_cgroup_members(int dir_fd);
void kill_cgroups_below(int dir_fd);

// Moves all processes of one cgroup into another of the same hierarchy. An error if one cannot be
// moved, or if new ones keep coming.
Result<> move_cgroup_members(const std::string& from, const std::string& to);

// Drops the pages that are charged to a v1 memory cgroup, which stays in the kernel after its
// removal as long as it has any. Only for one whose processes have ended or are about to be killed.
void drop_charged_pages(int dir_fd);

// Waits briefly while it is busy: about 150 ms, or so many tries.
constexpr int kCgroupRemovalTries = 30;
Result<> remove_cgroup_directory(int parent_fd, const std::string& name,
                                 int max_tries = kCgroupRemovalTries);
// What is below it, as far as it is empty.
void remove_cgroups_below(int dir_fd);

}  // namespace glovebox::sys
