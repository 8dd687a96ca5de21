// The cgroups that this process is in, as directories. An ordinary user may make others only below
// these, and only where the host's administrator or systemd has given them to the user.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>

#include "probe/cgroups/cgroup_layout.h"

namespace glovebox::probe {

struct OwnCgroups {
  std::string v2;                         // empty: this process is in no v2 cgroup that can be seen
  std::map<std::string, std::string> v1;  // controller -> directory
};

OwnCgroups detect_own_cgroups(const CgroupLayout& layout);
// From the text of /proc/self/cgroup, for other hosts' texts in tests.
OwnCgroups own_cgroups_of(const CgroupLayout& layout, std::string_view proc_self_cgroup);

// Whether this user may make cgroups below this one and move own processes into them.
bool may_make_groups_in(const std::string& group);

// Whether the user's systemd manages this cgroup, which the user owns all the same. Only cgroups
// that were asked for with Delegate=yes are for others to change.
bool is_managed_by_user_systemd(std::string_view group, uid_t uid);
// The scopes that launchers ask the user's systemd for.
inline constexpr std::string_view kScopePrefix = "glovebox-launcher-";
bool is_launcher_scope(std::string_view group);

// Whether the user may change this cgroup: both of the above.
bool is_given_to_user(const std::string& group);

// In v2, a cgroup whose controllers are on for those below it has no processes of its own. Those
// that were in it are moved into this one below it.
inline constexpr std::string_view kMembersGroup = "glovebox-members";
// The group above, if this is such a one; else the group itself.
std::string without_members_group(const std::string& group);

// The socket of the user's systemd, in this runtime directory; empty if it does not run.
std::string user_systemd_socket(const std::string& runtime_dir);

}  // namespace glovebox::probe
