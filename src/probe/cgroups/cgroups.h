// Control groups: which limits this user can set and are really enforced; how a sandbox can be
// paused, ended and measured. Groups made here are named gbx-doctor-<pid>-<what> and are removed
// again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/attempt.h"
#include "probe/cgroups/cgroup_layout.h"
#include "probe/cgroups/own_cgroups.h"
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
  OwnCgroups own{};                  // an ordinary user's
  bool own_group_delegated = false;  // a group could really be made in the v2 one
  std::string user{};                // an ordinary user's name
  bool user_systemd = false;         // an ordinary user has one to ask for a scope
  Attempt scope{};                  // which was tried, if the v2 cgroup is not the user's to change
  std::string scope_controllers{};  // that came with it
  Attempt freeze{};                 // v2 cgroup.freeze, until cgroup.events says frozen
  Attempt kill{};                   // v2 cgroup.kill of a frozen process
  bool v1_freezer = false;
  bool memory_peak = false;
  bool pids_peak = false;

  bool all_limits() const;
  // An ordinary user's v2 cgroup is not the user's to change, but systemd may give another.
  bool asks_for_scope() const;
};

CgroupFacts probe_cgroups();
void explain(const CgroupFacts& facts, Findings& findings);

bool lists_controller(std::string_view cgroup_controllers, std::string_view name);

}  // namespace glovebox::probe
