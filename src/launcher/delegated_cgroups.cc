#include "launcher/delegated_cgroups.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "probe/cgroups/cgroup_layout.h"
#include "probe/cgroups/cgroups.h"
#include "probe/cgroups/own_cgroups.h"
#include "probe/cgroups/user_scope.h"
#include "probe/kernel_text.h"
#include "sys/cgroup_directory.h"

namespace glovebox::launcher {
namespace {

bool offers_limits(const std::string& group) {
  const std::string offered = probe::read_text(group + "/cgroup.controllers").value_or("");
  return probe::lists_controller(offered, "memory") || probe::lists_controller(offered, "pids") ||
         probe::lists_controller(offered, "cpu");
}

// Makes room for cgroups with controllers: the processes of `group`, this one among them, go into
// one below it. All of them are the user's own, else the kernel refuses.
Result<> empty_group(const std::string& group) {
  const std::string members = group + "/" + std::string(probe::kMembersGroup);
  if (::mkdir(members.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail(Error::from_errno("create cgroup " + members));
  }
  Result<> moved = sys::move_cgroup_members(group, members);
  if (moved) return {};
  (void)sys::move_cgroup_members(members, group);
  (void)::rmdir(members.c_str());
  return moved;
}

// The v2 cgroup below which others with limits can be made; empty if there is none.
std::string prepared_v2_group(const probe::CgroupLayout& layout) {
  const std::string group = probe::without_members_group(probe::detect_own_cgroups(layout).v2);
  if (!probe::is_given_to_user(group) || !offers_limits(group)) return "";
  if (auto emptied = empty_group(group); !emptied) {
    log::info("this user's cgroup cannot be used for limits",
              {{"cgroup", group}, {"error", emptied.error().message()}});
    return "";
  }
  return group;
}

void enter_scope_or_log(const probe::CgroupLayout& layout) {
  if (auto entered = probe::enter_user_scope(layout); !entered) {
    log::info("no cgroup from the user's systemd", {{"error", entered.error().message()}});
  }
}

}  // namespace

sys::CgroupRoots delegated_cgroup_roots(bool shared) {
  const probe::CgroupLayout layout = probe::detect_cgroup_layout();
  sys::CgroupRoots roots;
  if (layout.usable_v2()) {
    if (!probe::is_given_to_user(
            probe::without_members_group(probe::detect_own_cgroups(layout).v2))) {
      enter_scope_or_log(layout);
    }
    roots.v2 = prepared_v2_group(layout);
    roots.v2_controls = !roots.v2.empty();
    return roots;
  }
  const probe::OwnCgroups own = probe::detect_own_cgroups(layout);
  const auto v1 = [&own](const char* controller) {
    const auto found = own.v1.find(controller);
    return found != own.v1.end() && probe::may_make_groups_in(found->second) ? found->second
                                                                             : std::string();
  };
  roots.v1_memory = v1("memory");
  roots.v1_pids = v1("pids");
  roots.v1_cpu = v1("cpu");
  roots.v1_cpuacct = v1("cpuacct");
  roots.v1_freezer = v1("freezer");
  // Without controllers the v2 tree is for pausing and killing.
  if (shared && roots.v1_freezer.empty() && !layout.v2_mount.empty() &&
      !probe::is_given_to_user(own.v2)) {
    enter_scope_or_log(layout);
  }
  const std::string v2 = probe::detect_own_cgroups(layout).v2;
  if (probe::is_given_to_user(v2)) roots.v2 = v2;
  return roots;
}

}  // namespace glovebox::launcher
