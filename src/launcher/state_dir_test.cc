#include "launcher/state_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace glovebox::launcher {
namespace {

namespace fs = std::filesystem;

class StateDirTest : public ::testing::Test {
 protected:
  StateDirTest() {
    std::string pattern = (fs::temp_directory_path() / "gbx-state-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    base_ = (root_ / "run").string();
    fs::create_directory(root_ / "cg");
    roots_.v2 = (root_ / "cg").string();
  }
  ~StateDirTest() override { fs::remove_all(root_); }
  fs::path root_;
  std::string base_;
  sys::CgroupRoots roots_;
};

TEST_F(StateDirTest, IsRemovedWithItsOwner) {
  std::string path;
  {
    const StateDir dir = StateDir::claim(base_).value();
    path = dir.path();
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(StateDirTest, ASweepLeavesTheLivingAlone) {
  const StateDir alive = StateDir::claim(base_).value();
  const std::string group = roots_.v2 + "/" + alive.cgroup_name(SandboxId::make());
  fs::create_directory(group);
  EXPECT_EQ(sweep_dead_launchers(base_, roots_), 0);
  EXPECT_TRUE(fs::exists(alive.path()));
  EXPECT_TRUE(fs::exists(group));
}

TEST_F(StateDirTest, ASweepTakesWhatADeadOneLeft) {
  fs::create_directories(base_);
  const std::string dead = LauncherId::make().str();
  fs::create_directory(base_ + "/" + dead);
  fs::create_directory(roots_.v2 + "/glovebox-" + dead + "-sbx");
  fs::create_directory(roots_.v2 + "/foreign");
  EXPECT_EQ(sweep_dead_launchers(base_, roots_), 1);
  EXPECT_FALSE(fs::exists(base_ + "/" + dead));
  EXPECT_FALSE(fs::exists(roots_.v2 + "/glovebox-" + dead + "-sbx"));
  EXPECT_TRUE(fs::exists(roots_.v2 + "/foreign"));
}

TEST_F(StateDirTest, ADeadOnesRecordIsAFileOrOfAnEarlierVersionADirectory) {
  std::string killed;
  {
    StateDir dir = StateDir::claim(base_).value();
    killed = dir.path();
    ASSERT_TRUE(fs::is_regular_file(killed));
    EXPECT_TRUE(fs::is_directory(dir.scratch()));
    fs::rename(killed, killed + "-aside");
  }
  fs::rename(killed + "-aside", killed);  // as one that was killed leaves it
  const std::string earlier = base_ + "/" + LauncherId::make().str();
  fs::create_directory(earlier);
  EXPECT_EQ(sweep_dead_launchers(base_, roots_), 2);
  EXPECT_FALSE(fs::exists(killed));
  EXPECT_FALSE(fs::exists(earlier));
  EXPECT_TRUE(fs::is_directory(base_ + "/scratch")) << "which all launchers use";
}

TEST_F(StateDirTest, ASweepLeavesWhatIsNoLaunchers) {
  EXPECT_EQ(sweep_dead_launchers((root_ / "missing").string(), roots_), 0);
  fs::create_directories(base_ + "/" + std::string(22, 'x'));
  fs::create_directories(base_ + "/home-" + LauncherId::make().str() + "-sb1");
  EXPECT_EQ(sweep_dead_launchers(base_, roots_), 0);
  EXPECT_TRUE(fs::exists(base_ + "/" + std::string(22, 'x')));
}

TEST_F(StateDirTest, ASweepTakesTheHomesOfADeadOneAndNoOthers) {
  const std::string dead = LauncherId::make().str();
  const std::string other = LauncherId::make().str();
  fs::create_directories(base_ + "/" + dead);
  fs::create_directories(base_ + "/home-" + dead + "-sb1/inside");
  fs::create_directories(base_ + "/home-" + other + "-sb1");
  EXPECT_EQ(sweep_dead_launchers(base_, roots_), 1);
  EXPECT_FALSE(fs::exists(base_ + "/home-" + dead + "-sb1"));
  EXPECT_TRUE(fs::exists(base_ + "/home-" + other + "-sb1"));
}

TEST_F(StateDirTest, ItsBaseIsSearchableAndNotListable) {
  const StateDir dir = StateDir::claim(base_).value();
  struct stat info {};
  ASSERT_EQ(::stat(base_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0711u);
  ASSERT_EQ(::stat(dir.scratch().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(dir.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(StateDirTest, RefusesADirectoryThatOthersCanWrite) {
  fs::create_directories(base_);
  ::chmod(base_.c_str(), 0777);
  EXPECT_FALSE(StateDir::claim(base_));
}

TEST_F(StateDirTest, LeasesAreInDirectoriesThatAreMade) {
  const std::string dir = (root_ / "home/.local/state/glovebox").string();
  EXPECT_EQ(make_leases_file(dir).value(), dir + "/uid-leases");
  EXPECT_TRUE(fs::is_directory(dir));
  EXPECT_EQ(make_leases_file(dir).value(), dir + "/uid-leases") << "they may be there already";
}

TEST_F(StateDirTest, LeasesAreNotWhereOthersCanWrite) {
  const std::string dir = (root_ / "leases").string();
  fs::create_directory(dir);
  ASSERT_EQ(::chmod(dir.c_str(), 0777), 0);
  EXPECT_FALSE(make_leases_file(dir));
  fs::remove(dir);
  fs::create_directory_symlink(root_, dir);
  EXPECT_FALSE(make_leases_file(dir)) << "a link may be another user's";
}

}  // namespace
}  // namespace glovebox::launcher
