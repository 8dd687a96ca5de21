#include "launcher/nursery/pending_zygote_cleanup.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace glovebox::launcher {
namespace {

namespace fs = std::filesystem;
using Clock = Remains::Clock;

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

// It does not wait for a child that has not died; it is there when it has.
TEST(Remains, ReapsAChildWithoutWaiting) {
  Remains remains;
  const pid_t child = start_child();
  remains.add_child(child, handle_of(child));
  const auto before = Clock::now();
  for (int i = 1; i < 20; ++i) remains.clean_up(before + std::chrono::seconds(i));
  EXPECT_LT(Clock::now() - before, std::chrono::seconds(1));
  EXPECT_FALSE(remains.empty());
  EXPECT_TRUE(remains.next_due());
  ::kill(child, SIGKILL);
  wait_for_death(child);
  remains.clean_up(before + std::chrono::hours(1));
  EXPECT_TRUE(remains.empty());
  EXPECT_TRUE(is_reaped(child));
  EXPECT_FALSE(remains.next_due());
}

TEST(Remains, TheEndWaitsForThem) {
  const pid_t child = start_child();
  {
    Remains remains;
    remains.add_child(child, handle_of(child));
    ::kill(child, SIGKILL);
  }
  EXPECT_TRUE(is_reaped(child));
}

// A cgroup that cannot go yet is tried again until it can, and what it holds is held for as long.
TEST(Remains, ACgroupGoesWhenItIsEmpty) {
  std::string pattern = (fs::temp_directory_path() / "gbx-remains-XXXXXX").string();
  const fs::path root = ::mkdtemp(pattern.data());
  auto group = sys::Cgroup::create(sys::CgroupRoots{.v1_pids = root}, nullptr, "slow", {});
  ASSERT_TRUE(group);
  fs::remove(root / "slow" / "pids.max");
  std::ofstream(root / "slow" / "somebody") << "here";  // so that it cannot be removed
  Remains remains;
  auto held = std::make_shared<const std::uint32_t>(7);
  const std::weak_ptr<const std::uint32_t> watched = held;
  remains.add_group({}, std::move(*group), std::move(held));
  const auto now = Clock::now();
  remains.clean_up(now + std::chrono::seconds(1));
  EXPECT_FALSE(remains.empty());
  EXPECT_FALSE(watched.expired());
  fs::remove(root / "slow" / "somebody");
  remains.clean_up(now + std::chrono::seconds(60));
  EXPECT_TRUE(remains.empty());
  EXPECT_TRUE(watched.expired());
  EXPECT_FALSE(fs::exists(root / "slow"));
  fs::remove_all(root);
}

}  // namespace
}  // namespace glovebox::launcher
