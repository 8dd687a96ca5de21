#include "probe/cgroups/cgroups.h"

#include <unistd.h>

#include <algorithm>

#include "probe/cgroups/cgroup_trials.h"
#include "probe/cgroups/user_scope.h"
#include "probe/kernel_text.h"
#include "probe/own_user.h"

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
    if (facts.own.v2.empty()) return std::nullopt;
    return Parent{facts.own.v2, CgroupVersion::kV2};
  }
  const std::map<std::string, std::string>& groups =
      facts.is_root ? layout.v1_mounts : facts.own.v1;
  const auto found = groups.find(controller);
  if (found == groups.end()) return std::nullopt;
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
// processes of its own (save the root) cannot say so. An ordinary user's launcher moves them.
void explain_absent_v2_controller(const Parent& found_parent, ControllerTrial& trial) {
  const std::string offered = read_text(found_parent.parent + "/cgroup.controllers").value_or("");
  if (!lists_controller(offered, trial.name)) {
    trial.attempt = Attempt::failed("not offered in " + found_parent.parent, -1);
    return;
  }
  const bool is_root_group = ::access((found_parent.parent + "/cgroup.type").c_str(), F_OK) != 0;
  const std::string members = read_text(found_parent.parent + "/cgroup.procs").value_or("");
  if (!is_root_group && !trim(members).empty() && !is_given_to_user(found_parent.parent)) {
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
  if (facts.asks_for_scope()) {
    trial.where = "a scope of the user's systemd";
    trial.attempt = facts.scope;
    trial.to_be_enabled = lists_controller(facts.scope_controllers, name);
    if (facts.scope.ok() && !trial.to_be_enabled) {
      trial.attempt = Attempt::failed("not delegated to this user's systemd", -1);
    }
    return trial;
  }
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

// As the launcher does. The scope ends with the helper.
void try_scope(CgroupFacts& facts) {
  facts.user_systemd = has_user_systemd();
  if (!facts.asks_for_scope()) return;
  facts.scope = attempt_in_helper(
      [&facts] {
        if (auto entered = enter_user_scope(facts.layout); !entered) {
          return Attempt::failed(entered.error().message(), -1);
        }
        const std::string group = detect_own_cgroups(facts.layout).v2;
        if (!may_make_groups_in(group)) return Attempt::failed("make a cgroup in " + group);
        Attempt worked = Attempt::worked();
        worked.note = read_text(group + "/cgroup.controllers").value_or("");
        return worked;
      },
      std::chrono::seconds(3));
  facts.scope_controllers = std::string(trim(facts.scope.note));
}

void try_levers(CgroupFacts& facts) {
  const auto& freezers = facts.is_root ? facts.layout.v1_mounts : facts.own.v1;
  const auto freezer = freezers.find("freezer");
  facts.v1_freezer =
      freezer != freezers.end() && (facts.is_root || may_make_groups_in(freezer->second));
  if (facts.asks_for_scope()) {
    facts.freeze = facts.kill = facts.scope;
    return;
  }
  const std::string parent = facts.is_root ? facts.layout.v2_mount : facts.own.v2;
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

// For a user of a host whose limits are in v1: every controller has a hierarchy of its own.
std::string give_v1_groups(const CgroupFacts& facts) {
  std::string mounts;
  for (const char* controller : {"memory", "pids", "cpu", "cpuacct", "freezer"}) {
    const auto found = facts.layout.v1_mounts.find(controller);
    if (found != facts.layout.v1_mounts.end()) mounts += " " + found->second;
  }
  // The user's own shell replaces $$ with its process id, before sudo.
  const std::string group = "\\$g/" + facts.user;
  return "sudo sh -c \"for g in" + mounts + "; do mkdir -p " + group + "; chown -R " + facts.user +
         " " + group + "; echo $$ > " + group +
         "/cgroup.procs; done\" gives you cgroups and puts this shell into them";
}

std::string how_to_get_delegation(const CgroupFacts& facts) {
  if (facts.layout.usable_v2()) {
    if (facts.user_systemd) {
      return "sudo mkdir -p /etc/systemd/system/user@.service.d && printf "
             "'[Service]\\nDelegate=cpu memory pids\\n' | sudo tee "
             "/etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl daemon-reload; "
             "then log in again";
    }
    return "sudo loginctl enable-linger " + facts.user +
           " && export XDG_RUNTIME_DIR=/run/user/$(id -u), or log in through systemd (ssh, "
           "machinectl shell): the launcher then asks the user's systemd for a cgroup; else run as "
           "root (sudo)";
  }
  return facts.layout.v1_mounts.empty() ? "run as root (sudo)" : give_v1_groups(facts);
}

// `where`: the tree that refused; empty when no tree has the controller.
std::string fix_for_limits(const CgroupFacts& facts, const std::string& where) {
  if (facts.is_root) {
    return where.empty()
               ? "mount the controller, or boot with systemd.unified_cgroup_hierarchy=1"
               : "run outside a container, or in one with a writable cgroup hierarchy of its own";
  }
  return "get delegation (see below), or run as root (sudo)";
}

void explain_delegation(const CgroupFacts& facts, Findings& findings) {
  Finding finding{"cgroups", "delegation", State::kOk, "", ""};
  if (facts.asks_for_scope() && facts.scope.ok()) {
    finding.detail = "the user's systemd gave a scope with: " +
                     (facts.scope_controllers.empty() ? "no controller" : facts.scope_controllers) +
                     "; the launcher asks for one of its own";
  } else if (facts.own_group_delegated && facts.all_limits()) {
    finding.detail = "this user may change its own cgroups: limits and pausing work";
  } else if (facts.all_limits()) {
    finding.detail = "this user may change its own cgroups: limits work";
  } else if (facts.own.v2.empty()) {
    finding.detail = "this user has no v2 cgroup";
  } else {
    finding.detail = facts.own.v2 + " is " +
                     (facts.own_group_delegated ? "delegated" : "not delegated") + " to this user";
  }
  if (!facts.all_limits()) {
    finding.state = State::kWarn;
    finding.detail += "; memory and CPU time are bounded per process, by rlimits";
    finding.fix = how_to_get_delegation(facts);
  }
  findings.push_back(std::move(finding));
}

void explain_levers(const CgroupFacts& facts, Findings& findings) {
  if (facts.kill.ok() && facts.freeze.ok()) {
    findings.push_back({"cgroups", "freeze and kill", State::kOk,
                        "a frozen process was killed through the v2 hierarchy", ""});
  } else {
    Finding finding{"cgroups", "freeze and kill", State::kWarn, "", ""};
    finding.detail = !facts.freeze.ok() ? facts.freeze.why() : facts.kill.why();
    finding.detail += facts.v1_freezer ? "; the v1 freezer is used instead"
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

bool CgroupFacts::asks_for_scope() const {
  return !is_root && user_systemd && layout.usable_v2() && !is_given_to_user(own.v2);
}

bool lists_controller(std::string_view cgroup_controllers, std::string_view name) {
  const std::vector<std::string_view> listed = words(cgroup_controllers);
  return std::find(listed.begin(), listed.end(), name) != listed.end();
}

CgroupFacts probe_cgroups() {
  CgroupFacts facts;
  facts.layout = detect_cgroup_layout();
  facts.is_root = ::geteuid() == 0;
  if (!facts.is_root) {
    facts.user = own_user_name_or_id();
    facts.own = detect_own_cgroups(facts.layout);
    facts.own.v2 = without_members_group(facts.own.v2);
    try_scope(facts);
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
      if (trial.name == "pids") {
        finding.state = State::kWarn;
        finding.detail += "; RLIMIT_NPROC bounds the processes of each jail instead";
      }
      finding.fix = fix_for_limits(facts, trial.where);
    } else if (trial.to_be_enabled) {
      finding.detail = "offered in " + trial.where + "; the launcher enables it";
    } else {
      finding.detail = "set in " + trial.where + " and enforced";
    }
    findings.push_back(std::move(finding));
  }
  if (!facts.is_root) explain_delegation(facts, findings);
  explain_levers(facts, findings);
}

}  // namespace glovebox::probe
