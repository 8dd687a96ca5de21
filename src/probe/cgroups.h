// Control groups: which limits can really be set by this user, and shown to bite; which levers
// there are for pausing, ending and measuring a sandbox. Groups made here are named
// gbx-doctor-<pid>-<what> and are removed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/attempt.h"
#include "probe/cgroup_layout.h"
#include "probe/finding.h"

namespace glovebox::probe {

struct ControllerTrial {
  std::string name{};   // "memory", "pids", "cpu"
  std::string where{};  // the directory its groups go to; empty when the controller is nowhere
  Attempt attempt{};
  // v2: offered, but not yet switched on for groups below; the launcher enables it. It was
  // therefore not tried: doctor changes nothing that stays.
  bool to_be_enabled = false;
};

struct CgroupFacts {
  CgroupLayout layout{};
  bool is_root = false;
  std::vector<ControllerTrial> controllers{};
  std::string own_group{};           // an ordinary user's, in the v2 tree; empty when there is none
  bool own_group_delegated = false;  // a group could really be made in it
  Attempt freeze{};                  // v2 cgroup.freeze, until cgroup.events says frozen
  Attempt kill{};                    // v2 cgroup.kill of a frozen process
  bool v1_freezer = false;
  bool memory_peak = false;
  bool pids_peak = false;

  bool all_limits() const;
};

CgroupFacts probe_cgroups();
void explain(const CgroupFacts& facts, Findings& findings);

// The path of the v2 line ("0::/user.slice/...") of /proc/self/cgroup.
std::optional<std::string> v2_group_of(std::string_view proc_self_cgroup);
bool lists_controller(std::string_view cgroup_controllers, std::string_view name);

}  // namespace glovebox::probe
