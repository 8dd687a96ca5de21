#include "launcher/sandbox/process_maker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace glovebox::launcher {
namespace {

namespace fs = std::filesystem;

// Not in use on a host that runs tests.
constexpr std::uint32_t kUid = 1499999999;
constexpr std::uint32_t kOtherUid = 1499999998;
constexpr int kNoNamespaces = 77;

class ProcessMaker : public ::testing::Test {
 protected:
  ProcessMaker() {
    std::string pattern = (fs::temp_directory_path() / "gbx-process-XXXXXX").string();
    base_ = ::mkdtemp(pattern.data());
    home_ = base_ / "glovebox" / "homes" / "home-1";
  }
  ~ProcessMaker() override { fs::remove_all(base_); }

  static mode_t mode_of(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  // Runs `inside` in a process of its own and returns what it returned.
  template <typename Inside>
  static int status_of(Inside inside) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(inside());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // In a process namespace with a /proc of its own: there is no other process that a mistake could
  // kill.
  template <typename Inside>
  static int status_alone(Inside inside) {
    return status_of([&inside] {
      if (::unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) return kNoNamespaces;
      return status_of([&inside] {
        if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("proc", "/proc", "proc", 0, nullptr) != 0) {
          return kNoNamespaces;
        }
        return inside();
      });
    });
  }
  // A process that waits for its end, as `uid` if that is not 0.
  static pid_t waiting(std::uint32_t uid) {
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
      if (uid != 0 && (::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0)) {
        ::_exit(1);
      }
      (void)!::write(ready[1], "", 1);
      while (true) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    const bool is_there = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
    return is_there ? child : -1;
  }
  static bool was_killed(pid_t pid) {
    int status = 0;
    return ::waitpid(pid, &status, WNOHANG) == pid && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGKILL;
  }
  static bool lives(pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) == 0; }

  fs::path base_;
  fs::path home_;
};

TEST_F(ProcessMaker, AHomeIsItsOwnersAloneAndNotToBeFoundByOthers) {
  const mode_t before = ::umask(022);
  auto lock = make_home(home_.string(), std::nullopt);
  ::umask(before);
  ASSERT_TRUE(lock) << lock.error().message();
  EXPECT_EQ(mode_of(home_), 0700u);
  EXPECT_EQ(mode_of(home_.parent_path()), 0711u);
  EXPECT_EQ(mode_of(home_.parent_path().parent_path()), 0755u);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another user";
  const fs::path others = home_.parent_path() / "home-2";
  ASSERT_TRUE(make_home(others.string(), kUid));
  struct stat info {};
  ASSERT_EQ(::stat(others.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kUid);
  EXPECT_EQ(info.st_gid, kUid);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST_F(ProcessMaker, AHomeIsNewAndNoLink) {
  ASSERT_TRUE(make_home(home_.string(), std::nullopt));
  EXPECT_FALSE(make_home(home_.string(), std::nullopt));
  const fs::path link = home_.parent_path() / "link";
  fs::create_directory_symlink(base_, link);
  EXPECT_FALSE(make_home(link.string(), std::nullopt));
}

TEST_F(ProcessMaker, AHomesLockIsSharedAndKeepsSweepsAway) {
  auto lock = make_home(home_.string(), std::nullopt);
  ASSERT_TRUE(lock) << lock.error().message();
  const UniqueFd again(::open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_NE(::flock(again.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(::flock(again.get(), LOCK_SH | LOCK_NB), 0);
  lock->reset();
  EXPECT_EQ(::flock(again.get(), LOCK_EX | LOCK_NB), 0);
}

TEST_F(ProcessMaker, AllProcessesOfTheUidAreKilledAndNoOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has other users' processes";
  ProcessStart start{.host_uid = kUid, .home = home_.string()};
  ASSERT_TRUE(make_home(start.home, start.host_uid));
  std::ofstream(home_ / "file") << "x";
  const int status = status_alone([&start] {
    const pid_t first = waiting(kUid);
    const pid_t second = waiting(kUid);
    const pid_t other = waiting(kOtherUid);
    const pid_t roots = waiting(0);
    if (first < 0 || second < 0 || other < 0 || roots < 0) return 1;
    ::kill(second, SIGSTOP);
    clean_up_process(start);
    if (!was_killed(first)) return 2;
    if (!was_killed(second)) return 3;
    if (!lives(other)) return 4;
    return lives(roots) ? 0 : 5;
  });
  if (status == kNoNamespaces) GTEST_SKIP() << "needs namespaces";
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(fs::exists(home_));
}

TEST_F(ProcessMaker, WithoutAUidOfItsOwnWhatWasLeftToUsIsKilled) {
  const ProcessStart start{.host_uid = std::nullopt, .home = home_.string()};
  ASSERT_TRUE(make_home(start.home, start.host_uid));
  const int status = status_of([&start] {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return 1;
    int told[2];
    if (::pipe2(told, O_CLOEXEC) != 0) return 1;
    const pid_t agent = ::fork();
    if (agent == 0) {
      const pid_t orphan = waiting(0);
      (void)!::write(told[1], &orphan, sizeof orphan);
      ::_exit(0);
    }
    pid_t orphan = -1;
    if (::read(told[0], &orphan, sizeof orphan) != sizeof orphan || orphan < 0) return 1;
    ::waitpid(agent, nullptr, 0);
    const pid_t own = waiting(0);
    if (own < 0) return 1;
    clean_up_process(start);
    if (::kill(orphan, 0) == 0) return 2;
    if (::kill(own, 0) == 0) return 3;
    return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? 0 : 4;
  });
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(fs::exists(home_));
}

}  // namespace
}  // namespace glovebox::launcher
