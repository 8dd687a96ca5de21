// Against a directory that looks like /sys/fs/cgroup; the real tree is for the contract tests.
#include "sys/cgroup.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace glovebox::sys {
namespace {

namespace fs = std::filesystem;

class CgroupTree : public ::testing::Test {
 protected:
  CgroupTree() {
    std::string pattern = (fs::temp_directory_path() / "gbx-cgroup-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~CgroupTree() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(CgroupTree, AMissingHierarchyIsReportedAndNotAnError) {
  const auto group =
      Cgroup::create(CgroupRoots{.v2 = "", .v1_memory = "/nonexistent"}, nullptr, "x", {});
  ASSERT_TRUE(group);
  EXPECT_FALSE(group->features().any);
  EXPECT_FALSE(group->features().memory);
}

TEST_F(CgroupTree, SweepTakesOnlyItsPrefix) {
  fs::create_directory(root_ / "glovebox-lnone-a");
  fs::create_directory(root_ / "glovebox-lntwo-b");
  EXPECT_EQ(Cgroup::sweep(CgroupRoots{.v2 = root_}, "glovebox-lnone-"), 1);
  EXPECT_FALSE(fs::exists(root_ / "glovebox-lnone-a"));
  EXPECT_TRUE(fs::exists(root_ / "glovebox-lntwo-b"));
}

TEST_F(CgroupTree, IsRemovedWithItsOwner) {
  {
    const auto group = Cgroup::create(CgroupRoots{.v1_pids = root_}, nullptr, "gone", {});
    ASSERT_TRUE(fs::exists(root_ / "gone"));
    EXPECT_TRUE(group->features().any);
  }
  EXPECT_FALSE(fs::exists(root_ / "gone"));
}

TEST_F(CgroupTree, FreezesWhereAFreezerIs) {
  const auto without = Cgroup::create(CgroupRoots{.v1_pids = root_}, nullptr, "none", {});
  ASSERT_TRUE(without);
  EXPECT_EQ(without->freeze(true).error().code(), Errc::kUnsupported);
  EXPECT_FALSE(without->is_frozen());

  const auto group = Cgroup::create(CgroupRoots{.v1_freezer = root_}, nullptr, "cold", {});
  ASSERT_TRUE(group);
  const fs::path state = root_ / "cold" / "freezer.state";
  std::ofstream(state) << "THAWED";
  EXPECT_TRUE(group->freeze(true));
  EXPECT_TRUE(group->is_frozen());
  std::ofstream(state) << "FREEZING";  // as the kernel says until the last has stopped
  EXPECT_FALSE(group->is_frozen());
  EXPECT_TRUE(group->freeze(false));
  EXPECT_FALSE(group->is_frozen());
  fs::remove(state);
}

}  // namespace
}  // namespace glovebox::sys
