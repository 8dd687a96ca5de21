// Against a directory that looks like /sys/fs/cgroup; the real tree is for the contract tests.
#include "sys/cgroup.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

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

TEST_F(CgroupTree, SweepTakesWhatIsBelowToo) {
  fs::create_directories(root_ / "glovebox-lnone-all" / "glovebox-lnone-t1" / "glovebox-lnone-a");
  fs::create_directories(root_ / "glovebox-lntwo-all" / "glovebox-lntwo-t1");
  EXPECT_EQ(Cgroup::sweep(CgroupRoots{.v1_memory = root_}, "glovebox-lnone-"), 1);
  EXPECT_FALSE(fs::exists(root_ / "glovebox-lnone-all"));
  EXPECT_TRUE(fs::exists(root_ / "glovebox-lntwo-all" / "glovebox-lntwo-t1"));
}

TEST_F(CgroupTree, MemoryAndSocketsTogetherStayWithinTheLimit) {
  for (const std::uint64_t limit :
       {1ull << 20, 9ull << 20, 144ull << 20, 768ull << 20, 64ull << 30}) {
    const MemorySplit split = split_memory(limit);
    EXPECT_EQ(split.memory_bytes + split.socket_bytes, limit);
    EXPECT_GE(split.memory_bytes, limit / 8 * 7);
    EXPECT_GT(split.socket_bytes, 0u);
  }
}

TEST_F(CgroupTree, OnV1TheSocketsShareIsTakenOutOfTheMemory) {
  auto group = Cgroup::create(CgroupRoots{.v1_memory = root_}, nullptr, "split", {});
  ASSERT_TRUE(group);
  const fs::path dir = root_ / "split";
  for (const char* name : {"memory.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"}) {
    std::ofstream(dir / name) << "";
  }
  group->set_limits({.memory_bytes = 144u << 20});
  const auto number = [&dir](const char* name) {
    std::uint64_t value = 0;
    std::ifstream(dir / name) >> value;
    return value;
  };
  EXPECT_EQ(number("memory.limit_in_bytes") + number("memory.kmem.tcp.limit_in_bytes"), 144u << 20);
  std::ofstream(dir / "memory.usage_in_bytes") << "1000";
  std::ofstream(dir / "memory.kmem.tcp.usage_in_bytes") << "24";
  EXPECT_EQ(group->now().memory_bytes, 1024u);
  EXPECT_EQ(group->now().socket_bytes, 24u);
  for (const auto& entry : fs::directory_iterator(dir)) fs::remove(entry.path());
}

TEST_F(CgroupTree, OnlyLimitsThatChangeAreWritten) {
  auto group = Cgroup::create(CgroupRoots{.v2 = root_, .v2_controls = true}, nullptr, "some", {});
  ASSERT_TRUE(group);
  const fs::path dir = root_ / "some";
  const auto empty_files = [&dir] {
    for (const char* name : {"memory.max", "pids.max", "cpu.max", "cpu.weight"}) {
      std::ofstream(dir / name) << "";
    }
  };
  const auto written = [&dir] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir)) {
      if (fs::file_size(entry.path()) > 0) names.insert(entry.path().filename());
    }
    return names;
  };
  using Names = std::set<std::string>;
  CgroupLimits limits{.memory_bytes = 144u << 20, .pids = 9, .cpu_thousandths = 1000};
  empty_files();
  group->set_limits(limits);
  EXPECT_EQ(written(), (Names{"memory.max", "pids.max", "cpu.max"}));
  empty_files();
  group->set_limits(limits);
  EXPECT_EQ(written(), Names());
  limits.cpu_weight = 512;
  group->set_limits(limits);
  EXPECT_EQ(written(), Names{"cpu.weight"});
  empty_files();
  limits.cpu_weight = kFullCpuWeight;
  limits.pids = 10;
  group->set_limits(limits);
  EXPECT_EQ(written(), (Names{"cpu.weight", "pids.max"}));
  EXPECT_TRUE(group->features().memory) << "as it was set before";
  for (const auto& entry : fs::directory_iterator(dir)) fs::remove(entry.path());
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
