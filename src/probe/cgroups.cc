#include "probe/cgroups.h"

#include <unistd.h>

#include <algorithm>

#include "probe/cgroup_trials.h"
#include "probe/kernel_text.h"

namespace glovebox::probe {

namespace {

// Where a group for this controller would go.
struct Parent {
  std::string parent;
  CgroupVersion version;
};

std::optional<Parent> parent_of(const std::string& controller, const CgroupFacts& facts) {
  const CgroupLayout& layout = facts.layout;
  if (layout.usable_v2()) {
    if (facts.is_root) return Parent{layout.v2_mount, CgroupVersion::kV2};
    if (facts.own_group.empty()) return std::nullopt;
    return Parent{facts.own_group, CgroupVersion::kV2};
  }
  const auto found = layout.v1_mounts.find(controller);
  if (found == layout.v1_mounts.end()) return std::nullopt;
  return Parent{found->second, CgroupVersion::kV1};
}

Attempt try_limit(const std::string& controller, const TrialGroup& group, CgroupVersion version) {
  if (controller == "memory") return try_memory_limit(group, version);
  if (controller == "pids") return try_pids_limit(group);
  return try_cpu_limit(group, version);
}

const char* limit_file(const std::string& controller, CgroupVersion version) {
  const bool v2 = version == CgroupVersion::kV2;
  if (controller == "memory") return v2 ? "memory.max" : "memory.limit_in_bytes";
  if (controller == "pids") return "pids.max";
  return v2 ? "cpu.max" : "cpu.cfs_quota_us";
}

// The v2 tree gives groups below a controller only when the parent says so, and a parent with
// processes of its own (save the root) cannot say so.
void explain_absent_v2_controller(const Parent& found_parent, ControllerTrial& trial) {
  const std::string offered = read_text(found_parent.parent + "/cgroup.controllers").value_or("");
  if (!lists_controller(offered, trial.name)) {
    trial.attempt = Attempt::failed("not offered in " + found_parent.parent, -1);
    return;
  }
  const bool is_root_group = ::access((found_parent.parent + "/cgroup.type").c_str(), F_OK) != 0;
  const std::string members = read_text(found_parent.parent + "/cgroup.procs").value_or("");
  if (!is_root_group && !trim(members).empty()) {
    trial.attempt = Attempt::failed(
        found_parent.parent + " contains processes, so it cannot delegate " + trial.name, -1);
    return;
  }
  if (::access((found_parent.parent + "/cgroup.subtree_control").c_str(), W_OK) != 0) {
    trial.attempt = Attempt::failed("enable it in " + found_parent.parent);
    return;
  }
  trial.to_be_enabled = true;
}

ControllerTrial try_controller(const std::string& name, CgroupFacts& facts) {
  ControllerTrial trial{.name = name};
  const std::optional<Parent> found_parent = parent_of(name, facts);
  if (!found_parent) {
    trial.attempt = Attempt::failed("no mounted hierarchy has this controller", -1);
    return trial;
  }
  trial.where = found_parent->parent;
  sweep_trial_groups(found_parent->parent);
  const Result<TrialGroup> group = TrialGroup::make(found_parent->parent, name);
  if (!group) {
    trial.attempt =
        Attempt::failed("create a cgroup in " + found_parent->parent, group.error().sys_errno());
    return trial;
  }
  if (!group->has(limit_file(name, found_parent->version))) {
    if (found_parent->version == CgroupVersion::kV2) {
      explain_absent_v2_controller(*found_parent, trial);
    } else {
      trial.attempt = Attempt::failed("cgroups have no limit file", -1);
    }
    return trial;
  }
  trial.attempt = try_limit(name, *group, found_parent->version);
  if (name == "memory") {
    facts.memory_peak = group->has("memory.peak") || group->has("memory.max_usage_in_bytes");
  }
  if (name == "pids") facts.pids_peak = group->has("pids.peak");
  return trial;
}

void try_levers(CgroupFacts& facts) {
  facts.v1_freezer = facts.layout.v1_mounts.contains("freezer");
  const std::string parent = facts.is_root ? facts.layout.v2_mount : facts.own_group;
  if (parent.empty()) {
    facts.freeze = facts.kill = Attempt::failed("no v2 tree", -1);
    return;
  }
  sweep_trial_groups(parent);
  const Result<TrialGroup> group = TrialGroup::make(parent, "levers");
  if (!group) {
    facts.freeze = facts.kill =
        Attempt::failed("create a cgroup in " + parent, group.error().sys_errno());
    return;
  }
  facts.own_group_delegated = true;
  const FreezeAndKill tried = try_freeze_and_kill(*group);
  facts.freeze = tried.freeze;
  facts.kill = tried.kill;
}

void explain_layout(const CgroupFacts& facts, Findings& findings) {
  Finding finding{"cgroups", "layout", State::kOk, std::string(facts.layout.name()), ""};
  if (facts.layout.name() == "none") {
    finding.state = State::kMissing;
    finding.detail = "no cgroup hierarchy is mounted";
    finding.fix = "sudo mount -t cgroup2 none /sys/fs/cgroup";
  } else if (facts.layout.name() == "hybrid") {
    finding.detail += ": limits through v1, freeze and kill through " + facts.layout.v2_mount;
  } else if (!facts.layout.v2_mount.empty()) {
    finding.detail += " at " + facts.layout.v2_mount;
  }
  findings.push_back(std::move(finding));
}

constexpr const char* kDelegate =
    "systemd-run --user --scope -p Delegate=yes -- glovebox ... has one, for freeze and kill; "
    "limits need root";

// `where`: the tree that refused; empty when no tree has the controller.
std::string fix_for_limits(const CgroupFacts& facts, const std::string& where) {
  if (facts.is_root) {
    return where.empty()
               ? "mount the controller, or boot with systemd.unified_cgroup_hierarchy=1"
               : "run outside a container, or in one with a writable cgroup hierarchy of its own";
  }
  return "run as root (sudo)";
}

void explain_levers(const CgroupFacts& facts, Findings& findings) {
  if (facts.kill.ok() && facts.freeze.ok()) {
    findings.push_back({"cgroups", "freeze and kill", State::kOk,
                        "a frozen process was killed through the v2 hierarchy", ""});
  } else {
    Finding finding{"cgroups", "freeze and kill", State::kWarn, "", ""};
    finding.detail = !facts.freeze.ok() ? facts.freeze.why() : facts.kill.why();
    finding.detail += facts.is_root && facts.v1_freezer
                          ? "; the v1 freezer is used instead"
                          : "; a sandbox is ended through its pid namespace";
    if (facts.is_root && facts.layout.v2_mount.empty()) {
      finding.fix = "mount a v2 hierarchy beside the v1 ones: /sys/fs/cgroup/unified";
    } else if (facts.kill.error == ENOENT || facts.freeze.error == ENOENT) {
      finding.fix = "use kernel 5.14 or later";
    } else if (facts.is_root) {
      finding.fix = fix_for_limits(facts, facts.layout.v2_mount);
    }
    findings.push_back(std::move(finding));
  }
  const bool peaks = facts.memory_peak && facts.pids_peak;
  std::string lacking;
  if (!facts.memory_peak) lacking = "memory";
  if (!facts.pids_peak) lacking += lacking.empty() ? "processes" : " and processes";
  findings.push_back({"cgroups", "peaks", peaks ? State::kOk : State::kWarn,
                      peaks
                          ? "the kernel records the peaks of memory and processes"
                          : "no peak of " + lacking + " from the kernel; they are sampled instead",
                      ""});
}

}  // namespace

bool CgroupFacts::all_limits() const {
  return !controllers.empty() &&
         std::all_of(controllers.begin(), controllers.end(),
                     [](const ControllerTrial& trial) { return trial.attempt.ok(); });
}

std::optional<std::string> v2_group_of(std::string_view proc_self_cgroup) {
  for (const std::string_view line : split(proc_self_cgroup, '\n')) {
    if (line.starts_with("0::/")) return std::string(line.substr(3));
  }
  return std::nullopt;
}

bool lists_controller(std::string_view cgroup_controllers, std::string_view name) {
  const std::vector<std::string_view> listed = words(cgroup_controllers);
  return std::find(listed.begin(), listed.end(), name) != listed.end();
}

CgroupFacts probe_cgroups() {
  CgroupFacts facts;
  facts.layout = detect_cgroup_layout();
  facts.is_root = ::geteuid() == 0;
  if (const auto text = read_text("/proc/self/cgroup"); text && !facts.layout.v2_mount.empty()) {
    if (const auto group = v2_group_of(*text)) {
      facts.own_group = facts.layout.v2_mount + (*group == "/" ? "" : *group);
    }
  }
  for (const char* name : {"memory", "pids", "cpu"}) {
    facts.controllers.push_back(try_controller(name, facts));
  }
  try_levers(facts);
  return facts;
}

void explain(const CgroupFacts& facts, Findings& findings) {
  explain_layout(facts, findings);
  for (const ControllerTrial& trial : facts.controllers) {
    Finding finding{"cgroups", trial.name + " limit", State::kOk, "", ""};
    if (!trial.attempt.ok()) {
      finding.state = State::kMissing;
      finding.detail = trial.attempt.why();
      finding.fix = fix_for_limits(facts, trial.where);
    } else if (trial.to_be_enabled) {
      finding.detail = "offered in " + trial.where + "; the launcher enables it";
    } else {
      finding.detail = "set in " + trial.where + " and enforced";
    }
    findings.push_back(std::move(finding));
  }
  if (!facts.is_root) {
    findings.push_back(
        {"cgroups", "delegation", facts.own_group_delegated ? State::kOk : State::kWarn,
         facts.own_group.empty()     ? "this user has no v2 cgroup"
         : facts.own_group_delegated ? facts.own_group + " is delegated to this user"
                                     : facts.own_group + " is not delegated to this user",
         facts.own_group_delegated || facts.own_group.empty() ? "" : kDelegate});
  }
  explain_levers(facts, findings);
}

}  // namespace glovebox::probe
