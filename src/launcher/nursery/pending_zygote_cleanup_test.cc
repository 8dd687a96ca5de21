#include "launcher/nursery/pending_zygote_cleanup.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace glovebox::launcher {
namespace {

namespace fs = std::filesystem;
using Clock = PendingZygoteCleanup::Clock;

pid_t start_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  return child;
}
UniqueFd handle_of(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void wait_for_death(pid_t pid) {
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}
bool is_reaped(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

TEST(PendingZygoteCleanup, ReapsAChildWithoutWaiting) {
  PendingZygoteCleanup cleanup;
  const pid_t child = start_child();
  cleanup.add_child(child, handle_of(child));
  const auto before = Clock::now();
  for (int i = 1; i < 20; ++i) cleanup.clean_up(before + std::chrono::seconds(i));
  EXPECT_LT(Clock::now() - before, std::chrono::seconds(1));
  EXPECT_FALSE(cleanup.empty());
  EXPECT_TRUE(cleanup.next_due());
  ::kill(child, SIGKILL);
  wait_for_death(child);
  cleanup.clean_up(before + std::chrono::hours(1));
  EXPECT_TRUE(cleanup.empty());
  EXPECT_TRUE(is_reaped(child));
  EXPECT_FALSE(cleanup.next_due());
}

TEST(PendingZygoteCleanup, AChildIsReapedWhenItIsDue) {
  PendingZygoteCleanup cleanup;
  const pid_t child = start_child();
  cleanup.add_child(child, handle_of(child));
  ::kill(child, SIGKILL);
  wait_for_death(child);
  const auto due = cleanup.next_due().value();
  cleanup.clean_up(due - std::chrono::nanoseconds(1));
  EXPECT_FALSE(cleanup.empty());
  cleanup.clean_up(due);
  EXPECT_TRUE(cleanup.empty());
}

TEST(PendingZygoteCleanup, ARoundOfTheLoopTriesFour) {
  PendingZygoteCleanup cleanup;
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(start_child());
    cleanup.add_child(children.back(), handle_of(children.back()));
    ::kill(children.back(), SIGKILL);
    wait_for_death(children.back());
  }
  const auto now = Clock::now() + std::chrono::hours(1);
  const auto reaped = [&] { return std::count_if(children.begin(), children.end(), is_reaped); };
  cleanup.clean_up(now);
  EXPECT_EQ(reaped(), 4);
  cleanup.clean_up(now);
  EXPECT_EQ(reaped(), 6);
  EXPECT_TRUE(cleanup.empty());
}

TEST(PendingZygoteCleanup, WaitsForKilledChildrenInItsDestructor) {
  const pid_t child = start_child();
  {
    PendingZygoteCleanup cleanup;
    cleanup.add_child(child, handle_of(child));
    ::kill(child, SIGKILL);
  }
  EXPECT_TRUE(is_reaped(child));
}

TEST(PendingZygoteCleanup, RemovesACgroupAndItsLeasesWhenItIsEmpty) {
  std::string pattern = (fs::temp_directory_path() / "gbx-zygote-cleanup-XXXXXX").string();
  const fs::path root = ::mkdtemp(pattern.data());
  auto group = sys::Cgroup::create(sys::CgroupRoots{.v1_pids = root}, nullptr, "slow", {});
  ASSERT_TRUE(group);
  fs::remove(root / "slow" / "pids.max");
  std::ofstream(root / "slow" / "occupant") << "x";  // so that rmdir fails
  PendingZygoteCleanup cleanup;
  auto held = std::make_shared<const std::uint32_t>(7);
  const std::weak_ptr<const std::uint32_t> watched = held;
  cleanup.add_group({}, std::move(*group), std::move(held));
  const auto now = Clock::now();
  cleanup.clean_up(now + std::chrono::seconds(1));
  EXPECT_FALSE(cleanup.empty());
  EXPECT_FALSE(watched.expired());
  fs::remove(root / "slow" / "occupant");
  cleanup.clean_up(now + std::chrono::seconds(60));
  EXPECT_TRUE(cleanup.empty());
  EXPECT_TRUE(watched.expired());
  EXPECT_FALSE(fs::exists(root / "slow"));
  fs::remove_all(root);
}

}  // namespace
}  // namespace glovebox::launcher
