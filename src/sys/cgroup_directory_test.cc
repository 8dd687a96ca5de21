#include "sys/cgroup_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "base/unique_fd.h"
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

class ChargedPages : public ::testing::Test {
 protected:
  ChargedPages() {
    std::string pattern = (fs::temp_directory_path() / "gbx-pages-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    for (const char* name : {"memory.limit_in_bytes", "memory.force_empty"}) {
      std::ofstream(root_ / name) << "";
    }
  }
  ~ChargedPages() override { fs::remove_all(root_); }
  void drop(const char* all, const char* kernel) const {
    std::ofstream(root_ / "memory.usage_in_bytes") << all;
    std::ofstream(root_ / "memory.kmem.usage_in_bytes") << kernel;
    const auto dir = open_dir(AT_FDCWD, root_);
    ASSERT_TRUE(dir);
    drop_charged_pages(dir->get());
  }
  std::string written(const char* name) const {
    return read_small_file(AT_FDCWD, root_ / name).value_or("none");
  }
  fs::path root_;
};

TEST_F(ChargedPages, WithoutAnyNothingIsWritten) {
  drop("81920", "81920");
  EXPECT_EQ(written("memory.limit_in_bytes"), "");
  EXPECT_EQ(written("memory.force_empty"), "");
}

TEST_F(ChargedPages, OneBesideTheKernelsOwnMemoryIsEnough) {
  drop("86016", "81920");
  EXPECT_EQ(written("memory.limit_in_bytes"), "81920");
  // These files stay as they are, so the limit seems to have dropped nothing.
  EXPECT_EQ(written("memory.force_empty"), "0");
}

// The part of /proc/cgroups that counts: removed cgroups stay in it while pages are charged to
// them.
int memory_cgroups() {
  std::ifstream table("/proc/cgroups");
  for (std::string name, line; table >> name; std::getline(table, line)) {
    int hierarchy = 0;
    int count = 0;
    if (name == "memory" && table >> hierarchy >> count) return count;
  }
  return 0;
}

class RealPages : public ::testing::Test {
 protected:
  static constexpr int kCgroups = 200;
  static constexpr const char* kMemory = "/sys/fs/cgroup/memory";
  void SetUp() override {
    if (::geteuid() != 0 || ::access("/sys/fs/cgroup/memory/memory.force_empty", F_OK) != 0) {
      GTEST_SKIP() << "no v1 memory hierarchy in which a cgroup can be made";
    }
    // Pages of a tmpfs cannot be dropped.
    std::string pattern = "/var/tmp/gbx-pages-XXXXXX";
    files_ = ::mkdtemp(pattern.data());
    struct statfs where {};
    ASSERT_EQ(::statfs(files_.c_str(), &where), 0);
    if (where.f_type == TMPFS_MAGIC) GTEST_SKIP() << "/var/tmp is in memory";
  }
  ~RealPages() override {
    if (!files_.empty()) fs::remove_all(files_);
  }
  // In a cgroup of its own, a process reads one page that is not in memory, and ends; then the
  // cgroup is emptied and removed. How many more cgroups the kernel has after many of these.
  int left_by(const std::function<void(int)>& empty, const std::string& name) {
    for (int i = 0; i < kCgroups; ++i) std::ofstream(files_ / (name + std::to_string(i))) << "x";
    const auto files = open_dir(AT_FDCWD, files_);
    EXPECT_TRUE(files && ::syncfs(files->get()) == 0);
    const int before = memory_cgroups();
    for (int i = 0; i < kCgroups; ++i) {
      const std::string group = std::string(kMemory) + "/gbx-test-" + std::to_string(::getpid());
      EXPECT_EQ(::mkdir(group.c_str(), 0755), 0);
      const std::string file = files_ / (name + std::to_string(i));
      const UniqueFd page(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
      EXPECT_EQ(::posix_fadvise(page.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
      const pid_t child = ::fork();
      if (child == 0) {
        char byte = 0;
        (void)write_control(AT_FDCWD, group + "/tasks", "0");
        ::_exit(::read(page.get(), &byte, 1) == 1 ? 0 : 1);
      }
      ::waitpid(child, nullptr, 0);
      const auto dir = open_dir(AT_FDCWD, group);
      if (dir) empty(dir->get());
      EXPECT_TRUE(remove_cgroup_directory(AT_FDCWD, group));
    }
    return memory_cgroups() - before;
  }
  fs::path files_;
};

TEST_F(RealPages, ASinglePageOfAFileDoesNotKeepTheCgroup) {
  // Others on this host make and remove cgroups meanwhile.
  EXPECT_LT(left_by(drop_charged_pages, "dropped"), kCgroups / 2);
  // Control: it would.
  EXPECT_GT(left_by([](int) {}, "kept"), kCgroups / 2);
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
