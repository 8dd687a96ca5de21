#include "sys/cgroup_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sys/file.h"

namespace glovebox::sys {
namespace {

namespace fs = std::filesystem;

class MovedMembers : public ::testing::Test {
 protected:
  MovedMembers() {
    std::string pattern = (fs::temp_directory_path() / "gbx-members-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    for (const char* name : {"from", "to"}) {
      fs::create_directory(root_ / name);
      std::ofstream(root_ / name / "cgroup.procs") << "";
    }
  }
  ~MovedMembers() override { fs::remove_all(root_); }
  Result<> move() const { return move_cgroup_members(root_ / "from", root_ / "to"); }
  fs::path root_;
};

TEST_F(MovedMembers, NothingIsWrittenForAnEmptyCgroup) {
  EXPECT_TRUE(move());
  EXPECT_EQ(fs::file_size(root_ / "to" / "cgroup.procs"), 0u);
}

TEST_F(MovedMembers, AProcessThatCannotBeSeenIsNotMistakenForThisOne) {
  std::ofstream(root_ / "from" / "cgroup.procs") << "0\n";
  const auto moved = move();
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code(), Errc::kUnsupported);
  EXPECT_EQ(fs::file_size(root_ / "to" / "cgroup.procs"), 0u);
}

TEST_F(MovedMembers, ACgroupThatDoesNotGetEmptyIsAnError) {
  std::ofstream(root_ / "from" / "cgroup.procs") << "12\n";
  const auto moved = move();
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code(), Errc::kConflict);
}

std::string v2_mount() {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;
    return word;
  }
  return "";
}

TEST(RealCgroups, MovesTheirProcesses) {
  const std::string mount = v2_mount();
  const std::string top = mount + "/gbx-test-move-" + std::to_string(::getpid());
  if (mount.empty() || ::mkdir(top.c_str(), 0755) != 0) {
    GTEST_SKIP() << "no v2 hierarchy in which a cgroup can be made";
  }
  const std::string from = top + "/from";
  const std::string to = top + "/to";
  ASSERT_EQ(::mkdir(from.c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(to.c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const std::string pid = std::to_string(child);
  EXPECT_TRUE(write_control(AT_FDCWD, from + "/cgroup.procs", pid));
  EXPECT_TRUE(move_cgroup_members(from, to));
  EXPECT_EQ(read_small_file(AT_FDCWD, to + "/cgroup.procs").value_or(""), pid + "\n");
  EXPECT_EQ(read_small_file(AT_FDCWD, from + "/cgroup.procs").value_or("none"), "");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const std::string& path : {from, to, top}) {
    EXPECT_TRUE(remove_cgroup_directory(AT_FDCWD, path)) << path;
  }
}

}  // namespace
}  // namespace glovebox::sys
