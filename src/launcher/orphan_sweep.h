// The second half of the clean-up at a launcher's start: what carries our name and has no owner any
// more, also when the owner's record (state_dir.h) is gone. Only what is empty, not locked and not
// new is removed, and no process is ended: the record of a launcher in another container may be
// where we cannot see it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/unique_fd.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

// A launcher fills what it makes within moments.
inline constexpr std::chrono::seconds kOrphanAge{60};

struct OrphanPaths {
  std::string base;   // of the launchers' records
  std::string homes;  // of the process engine's sandboxes
  sys::CgroupRoots roots{};
};

// Locks the launcher's own cgroups that are there now, for launchers that do not see its record:
// those above its sandboxes may be empty for long. The locks end with the descriptors.
std::vector<UniqueFd> lock_own_cgroups(const sys::CgroupRoots& roots, const LauncherId& id);

// How many of each were removed.
struct SweptOrphans {
  int mounts = 0;
  int cgroups = 0;
  int homes = 0;
  bool operator==(const SweptOrphans&) const = default;
};

// Unmounts what dead launchers of earlier versions mounted over their records, which then are seen
// and swept as such. Before sweep_dead_launchers(). `mountinfo`: our own, of now.
int sweep_orphaned_mounts(const std::string& base, std::string_view mountinfo);

// Removes empty cgroups and directories of launchers that have no record. After
// sweep_dead_launchers().
SweptOrphans sweep_orphans(const OrphanPaths& paths, std::chrono::seconds age = kOrphanAge);

}  // namespace glovebox::launcher
