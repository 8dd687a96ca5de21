#include "launcher/orphan_sweep.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "launcher/sandbox/process_maker.h"
#include "launcher/state_dir.h"
#include "probe/cgroups/cgroup_layout.h"

namespace glovebox::launcher {
namespace {

namespace fs = std::filesystem;

class OrphanSweep : public ::testing::Test {
 protected:
  OrphanSweep() {
    std::string pattern = (fs::temp_directory_path() / "gbx-orphans-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    paths_.base = (root_ / "run").string();
    paths_.homes = (root_ / "homes").string();
    paths_.roots.v2 = (root_ / "unified").string();
    paths_.roots.v1_memory = (root_ / "memory").string();
    for (const std::string& path :
         {paths_.base, paths_.homes, paths_.roots.v2, paths_.roots.v1_memory}) {
      fs::create_directory(path);
    }
    ::chmod(paths_.base.c_str(), 0711);
  }
  ~OrphanSweep() override { fs::remove_all(root_); }

  // With its children, as old as an hour.
  static std::string make_old(const std::string& path) {
    fs::create_directories(path);
    const auto then = fs::file_time_type::clock::now() - std::chrono::hours(1);
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      fs::last_write_time(entry.path(), then);
    }
    fs::last_write_time(path, then);
    return path;
  }
  std::string dead_group(const std::string& parent, const std::string& rest = "-sbx") {
    return parent + "/glovebox-" + LauncherId::make().str() + rest;
  }

  fs::path root_;
  OrphanPaths paths_;
};

TEST_F(OrphanSweep, TakesEmptyCgroupsWhoseOwnersRecordIsGone) {
  const std::string one = make_old(dead_group(paths_.roots.v1_memory));
  const std::string family = dead_group(paths_.roots.v2, "-family");
  fs::create_directories(family + "/nursery");
  fs::create_directories(family + "/sb/inner");
  make_old(family);
  EXPECT_EQ(sweep_orphans(paths_).cgroups, 2);
  EXPECT_FALSE(fs::exists(one));
  EXPECT_FALSE(fs::exists(family));
}

TEST_F(OrphanSweep, LooksIntoOurParentsAndKeepsThem) {
  const std::string parent = paths_.roots.v2 + "/glovebox";
  const std::string one = make_old(dead_group(parent));
  make_old(parent);
  EXPECT_EQ(sweep_orphans(paths_).cgroups, 1);
  EXPECT_FALSE(fs::exists(one));
  EXPECT_TRUE(fs::exists(parent));
}

TEST_F(OrphanSweep, LooksAFewLevelsDeepAndNoFurther) {
  const auto nested = [](std::string path, const char* name, int levels) {
    for (int i = 0; i < levels; ++i) path += std::string("/") + name;
    return path;
  };
  // What a group has inside.
  const std::string deepest = dead_group(paths_.roots.v1_memory);
  fs::create_directories(nested(deepest, "inner", 4));
  make_old(deepest);
  const std::string deeper = dead_group(paths_.roots.v1_memory);
  fs::create_directories(nested(deeper, "inner", 5));
  make_old(deeper);
  // What is between the hierarchy and a group.
  const std::string found = make_old(dead_group(nested(paths_.roots.v2, "glovebox", 4)));
  const std::string hidden = make_old(dead_group(nested(paths_.roots.v2, "glovebox", 5)));
  EXPECT_EQ(sweep_orphans(paths_).cgroups, 2);
  EXPECT_FALSE(fs::exists(deepest));
  EXPECT_TRUE(fs::exists(deeper));
  EXPECT_FALSE(fs::exists(found));
  EXPECT_TRUE(fs::exists(hidden));
}

TEST_F(OrphanSweep, WhatIsNotThereHasNothingToSweep) {
  paths_.roots.v1_pids = (root_ / "missing").string();
  paths_.homes = (root_ / "missing").string();
  EXPECT_EQ(sweep_orphans(paths_), SweptOrphans{});
  EXPECT_TRUE(lock_own_cgroups(paths_.roots, LauncherId::make()).empty());
  const std::string line = "36 35 98:0 / " + paths_.base + "/other/x rw - tmpfs none rw\n";
  EXPECT_EQ(sweep_orphaned_mounts(paths_.base, ""), 0);
  EXPECT_EQ(sweep_orphaned_mounts(paths_.base, line), 0);
  EXPECT_EQ(sweep_orphaned_mounts(paths_.base, "36 35\n36 35 98:0 / /\n" + line), 0);
}

TEST_F(OrphanSweep, LeavesWhatALauncherWithARecordHas) {
  const StateDir alive = StateDir::claim(paths_.base).value();
  const std::string group = make_old(paths_.roots.v2 + "/" + alive.cgroup_name(SandboxId::make()));
  const std::string home = make_old(paths_.homes + "/home-" + alive.id().str() + "-sbx");
  EXPECT_EQ(sweep_orphans(paths_), SweptOrphans{});
  EXPECT_TRUE(fs::exists(group));
  EXPECT_TRUE(fs::exists(home));
}

TEST_F(OrphanSweep, LeavesWhatALauncherHoldsALockOnThoughItsRecordIsElsewhere) {
  const LauncherId elsewhere = LauncherId::make();
  const std::string group = paths_.roots.v2 + "/glovebox-" + elsewhere.str() + "-all";
  fs::create_directories(group + "/tenant");
  make_old(group);
  auto locks = lock_own_cgroups(paths_.roots, elsewhere);
  EXPECT_EQ(locks.size(), 1u);
  EXPECT_TRUE(lock_own_cgroups(paths_.roots, LauncherId::make()).empty());
  EXPECT_EQ(sweep_orphans(paths_), SweptOrphans{});
  EXPECT_TRUE(fs::exists(group + "/tenant"));
  locks.clear();
  EXPECT_EQ(sweep_orphans(paths_).cgroups, 1);
  EXPECT_FALSE(fs::exists(group));
}

TEST_F(OrphanSweep, LeavesWhatIsNewNotEmptyOrNotOurs) {
  const std::string young = dead_group(paths_.roots.v2);
  fs::create_directory(young);
  const std::string busy = dead_group(paths_.roots.v2);
  fs::create_directory(busy);
  std::ofstream(busy + "/stands-for-a-process") << "1";
  make_old(busy);
  const std::string foreign = make_old(paths_.roots.v2 + "/system.slice");
  const std::string alike = make_old(paths_.roots.v2 + "/glovebox-" + std::string(22, 'x') + "-a");
  const std::string short_id = make_old(paths_.roots.v2 + "/glovebox-ln0-sbx");
  // A launcher's name ends with a dash; and ours are not looked for in what is others'.
  const std::string no_dash = make_old(dead_group(paths_.roots.v2, ""));
  const std::string longer = make_old(dead_group(paths_.roots.v2, "x-sbx"));
  const std::string inside = make_old(dead_group(foreign));
  make_old(foreign);
  EXPECT_EQ(sweep_orphans(paths_), SweptOrphans{});
  for (const std::string& path : {young, busy, foreign, alike, short_id, no_dash, longer, inside}) {
    EXPECT_TRUE(fs::exists(path)) << path;
  }
  EXPECT_EQ(sweep_orphans(paths_, std::chrono::seconds(0)).cgroups, 1);
  EXPECT_FALSE(fs::exists(young));
}

TEST_F(OrphanSweep, TakesHomesThatNoProcessOfTheirOwnerUses) {
  const std::string dead = LauncherId::make().str();
  const std::string empty = make_old(paths_.homes + "/home-" + dead + "-sb1");
  // Its owner is this test's own user, who has a process.
  const std::string used = paths_.homes + "/home-" + dead + "-sb2";
  fs::create_directory(used);
  std::ofstream(used + "/file") << "x";
  make_old(used);
  EXPECT_EQ(sweep_orphans(paths_).homes, 1);
  EXPECT_FALSE(fs::exists(empty));
  EXPECT_TRUE(fs::exists(used));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another user";
  ASSERT_EQ(::chown(used.c_str(), 1499999999, 1499999999), 0);
  make_old(used);
  EXPECT_EQ(sweep_orphans(paths_).homes, 1);
  EXPECT_FALSE(fs::exists(used));
}

TEST_F(OrphanSweep, LeavesTheHomesOfALiveLauncherWhoseRecordIsElsewhere) {
  const std::string prefix = paths_.homes + "/home-" + LauncherId::make().str();
  // No process that we can see has this uid.
  std::optional<std::uint32_t> owner;
  if (::geteuid() == 0) owner = 1499999999;
  UniqueFd empty = make_home(prefix + "-sb1", owner).value();
  UniqueFd used = make_home(prefix + "-sb2", owner).value();
  std::ofstream(prefix + "-sb2/file") << "x";
  make_old(prefix + "-sb1");
  make_old(prefix + "-sb2");
  EXPECT_EQ(sweep_orphans(paths_), SweptOrphans{});
  EXPECT_TRUE(fs::exists(prefix + "-sb1"));
  EXPECT_TRUE(fs::exists(prefix + "-sb2/file"));
  empty.reset();  // as when the launcher dies
  used.reset();
  EXPECT_EQ(sweep_orphans(paths_).homes, owner ? 2 : 1);
}

// In a mount namespace of its own; 0 if all is as it should be.
int mounts_are_swept(const std::string& base, const std::string& alive_path) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return 77;
  }
  const std::string dead = base + "/" + LauncherId::make().str();
  fs::create_directory(dead);
  const auto mount_at = [](const std::string& path) {
    return ::mount("none", path.c_str(), "tmpfs", 0, "size=16k") == 0;
  };
  if (!mount_at(dead) || ::mkdir((dead + "/dev").c_str(), 0755) != 0 || !mount_at(dead + "/dev") ||
      !mount_at(alive_path) || ::mkdir((base + "/other").c_str(), 0755) != 0 ||
      !mount_at(base + "/other")) {
    return 1;
  }
  if (sweep_orphaned_mounts(base, probe::read_mountinfo()) != 2) return 2;
  if (::rmdir(dead.c_str()) != 0) return 3;
  // Still mounted: the covered directory is busy.
  if (::rmdir(alive_path.c_str()) == 0 || errno != EBUSY) return 4;
  return ::rmdir((base + "/other").c_str()) != 0 && errno == EBUSY ? 0 : 5;
}

TEST_F(OrphanSweep, UnmountsWhatADeadLauncherMountedAndNotALiveOnes) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  // As earlier versions did.
  const std::string alive = paths_.base + "/" + LauncherId::make().str();
  fs::create_directories(alive);
  const UniqueFd lock(::open(alive.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(mounts_are_swept(paths_.base, alive));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs a mount namespace";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace glovebox::launcher
