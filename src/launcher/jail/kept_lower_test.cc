#include "launcher/jail/kept_lower.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace glovebox::launcher {
namespace {

using std::chrono::seconds;

UniqueFd any_fd() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

class KeptLowersTest : public testing::Test {
 protected:
  void add(std::uint32_t uid) { kept_.add(uid, {any_fd(), any_fd()}, now_); }
  KeptLowers kept_;
  KeptLowers::Clock::time_point now_{};
};

TEST_F(KeptLowersTest, FindsWhatWasKeptForASlice) {
  add(7);
  ASSERT_NE(kept_.find(7, now_), nullptr);
  EXPECT_EQ(kept_.find(8, now_), nullptr);
  EXPECT_TRUE(is_open(kept_.find(7, now_)->usr.get()));
}

TEST_F(KeptLowersTest, DropsWhatIsNotUsedAndClosesIt) {
  add(7);
  const int usr = kept_.find(7, now_)->usr.get();
  now_ += seconds(5);
  add(8);
  EXPECT_EQ(kept_.next_due(), KeptLowers::Clock::time_point{} + KeptLowers::kIdle);
  kept_.drop_idle(now_ += seconds(4));
  EXPECT_EQ(kept_.size(), 2u);
  kept_.drop_idle(now_ += seconds(1));
  EXPECT_EQ(kept_.size(), 1u);
  EXPECT_FALSE(is_open(usr));
  EXPECT_NE(kept_.find(8, now_), nullptr);
  kept_.drop_idle(now_ += seconds(9));
  EXPECT_EQ(kept_.size(), 1u) << "it was used meanwhile";
  kept_.drop_idle(now_ += seconds(1));
  EXPECT_EQ(kept_.next_due(), std::nullopt);
}

TEST_F(KeptLowersTest, KeepsABoundedNumberAndTheOldestGoes) {
  for (std::uint32_t uid = 0; uid < KeptLowers::kMost; ++uid) {
    now_ += seconds(1);
    add(uid);
  }
  (void)kept_.find(0, now_ += seconds(1));
  add(1000);
  EXPECT_EQ(kept_.size(), KeptLowers::kMost);
  EXPECT_NE(kept_.find(0, now_), nullptr);
  EXPECT_EQ(kept_.find(1, now_), nullptr);
}

}  // namespace
}  // namespace glovebox::launcher
