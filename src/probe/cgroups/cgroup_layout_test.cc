#include "probe/cgroups/cgroup_layout.h"

#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

TEST(CgroupLayout, ReadsAHybridHost) {
  const CgroupLayout layout = parse_cgroup_mounts(
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:3 - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(layout.v2_mount, "/sys/fs/cgroup/unified");
  EXPECT_EQ(layout.v1_mounts.at("memory"), "/sys/fs/cgroup/memory");
  EXPECT_EQ(layout.v1_mounts.at("cpuacct"), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(layout.name(), "hybrid");
}

TEST(CgroupLayout, ReadsAPureV2Host) {
  CgroupLayout layout = parse_cgroup_mounts(
      "25 22 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  layout.v2_has_controllers = controllers_suffice("cpuset cpu io memory hugetlb pids\n");
  EXPECT_TRUE(layout.usable_v2());
  EXPECT_EQ(layout.name(), "v2");
}

TEST(CgroupLayout, AnEmptyV2TreeDoesNotSuffice) {
  EXPECT_FALSE(controllers_suffice("\n"));
  EXPECT_FALSE(controllers_suffice("cpu pids\n"));
}

TEST(CgroupLayout, GarbageIsNoLayout) {
  EXPECT_EQ(parse_cgroup_mounts("x\n - \n1 2 3 - cgroup2\n").name(), "none");
}

}  // namespace
}  // namespace glovebox::probe
