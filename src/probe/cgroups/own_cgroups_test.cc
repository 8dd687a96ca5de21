#include "probe/cgroups/own_cgroups.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace glovebox::probe {
namespace {

TEST(OwnCgroups, FindsTheGroupInEveryHierarchy) {
  const CgroupLayout layout = parse_cgroup_mounts(
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:3 - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  const OwnCgroups own = own_cgroups_of(
      layout, "9:name=systemd:/x\n4:memory:/alice\n3:cpu,cpuacct:/\n2:pids:/p\n0::/alice/shell\n");
  EXPECT_EQ(own.v2, "/sys/fs/cgroup/unified/alice/shell");
  EXPECT_EQ(own.v1.at("memory"), "/sys/fs/cgroup/memory/alice");
  EXPECT_EQ(own.v1.at("cpu"), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(own.v1.at("cpuacct"), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_FALSE(own.v1.contains("pids")) << "it is not mounted";
}

TEST(OwnCgroups, AContainerSeesAPartOfTheHierarchy) {
  const CgroupLayout layout = parse_cgroup_mounts(
      "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  EXPECT_EQ(own_cgroups_of(layout, "4:memory:/docker/abc\n").v1.at("memory"),
            "/sys/fs/cgroup/memory");
  EXPECT_EQ(own_cgroups_of(layout, "4:memory:/docker/abc/x\n").v1.at("memory"),
            "/sys/fs/cgroup/memory/x");
  EXPECT_TRUE(own_cgroups_of(layout, "4:memory:/../other\n").v1.empty()) << "it cannot be seen";
}

TEST(OwnCgroups, GarbageNamesNoGroup) {
  const CgroupLayout layout =
      parse_cgroup_mounts("25 22 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  for (const char* text : {"", "\n", "0::", "0:", "x", "0::relative\n"}) {
    EXPECT_EQ(own_cgroups_of(layout, text).v2, "") << text;
  }
}

TEST(OwnCgroups, KnowsWhatTheUsersSystemdManages) {
  const std::string below = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice";
  EXPECT_TRUE(is_managed_by_user_systemd(below + "/a.scope", 1000));
  EXPECT_FALSE(is_managed_by_user_systemd(below + "/a.scope", 100));
  EXPECT_FALSE(is_managed_by_user_systemd("/sys/fs/cgroup/alice", 1000));
  EXPECT_TRUE(is_launcher_scope(below + "/glovebox-launcher-77.scope"));
  EXPECT_FALSE(is_launcher_scope(below + "/glovebox-launcher-77.scope/x"));
  EXPECT_FALSE(is_launcher_scope(below + "/run-77.scope"));
}

TEST(OwnCgroups, GoesUpFromTheGroupOfMovedProcesses) {
  EXPECT_EQ(without_members_group("/sys/fs/cgroup/alice/glovebox-members"), "/sys/fs/cgroup/alice");
  EXPECT_EQ(without_members_group("/sys/fs/cgroup/alice"), "/sys/fs/cgroup/alice");
}

TEST(OwnCgroups, ADirectoryWithoutCgroupFilesIsNoPlaceForGroups) {
  std::string pattern = (std::filesystem::temp_directory_path() / "gbx-own-XXXXXX").string();
  const std::string dir = ::mkdtemp(pattern.data());
  EXPECT_FALSE(may_make_groups_in(dir));
  EXPECT_FALSE(may_make_groups_in(""));
  EXPECT_EQ(user_systemd_socket(dir), "");
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace glovebox::probe
