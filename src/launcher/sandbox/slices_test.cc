#include "launcher/sandbox/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <set>

namespace glovebox::launcher {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kFirst = 1u << 24;
constexpr std::uint32_t kSlices = 17;  // sixteen, and the server's
constexpr std::uint32_t kLast = kFirst + kSlices * kSliceSize - 1;

class Slices : public ::testing::Test {
 protected:
  Slices() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gbx-slices-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
    file_ = dir_ + "/slices";
  }
  ~Slices() override { std::filesystem::remove_all(dir_); }
  Result<UidSlices> open() { return UidSlices::open(file_, kFirst, kLast); }
  std::string dir_;
  std::string file_;
};

TEST_F(Slices, ALauncherBeginsWithOneAndTakesTheOthersAsItUsesThem) {
  std::vector<UidSlices> launchers;
  std::set<std::uint32_t> uids;
  for (int i = 0; i < 8; ++i) {
    launchers.push_back(open().value());
    uids.insert(launchers.back().nursery_uid());
  }
  // Eight are left for the first launcher that asks.
  for (int i = 0; i < 8; ++i) uids.insert(launchers[3].host_uid(launchers[3].take().value()));
  EXPECT_EQ(uids.size(), 16u) << "no two leases overlap";
  EXPECT_FALSE(launchers[0].take());
  EXPECT_FALSE(open());
}

TEST_F(Slices, TheFirstIsTheServersAndNeverLeased) {
  UidSlices slices = open().value();
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t slice = slices.take().value();
    EXPECT_GE(slices.host_uid(slice), kFirst + kSliceSize);
    EXPECT_LE(slices.host_uid(slice), kLast - kSliceSize + 1);
    EXPECT_NE(slices.host_uid(slice), slices.nursery_uid());
    slices.give_back(slice);
  }
}

TEST_F(Slices, TwoLaunchersWithRangesThatOverlapNeverLeaseTheSameUid) {
  constexpr std::uint32_t kShift = 5 * kSliceSize;
  UidSlices one = open().value();
  UidSlices other = UidSlices::open(file_, kFirst + kShift, kLast + kShift).value();
  std::set<std::uint32_t> uids = {one.nursery_uid(), other.nursery_uid()};
  std::size_t leases = 2;
  bool goes_on = true;
  while (goes_on) {
    goes_on = false;
    for (UidSlices* slices : {&one, &other}) {
      const auto slice = slices->take();
      if (!slice) continue;
      goes_on = true;
      ++leases;
      EXPECT_TRUE(uids.insert(slices->host_uid(*slice)).second) << slices->host_uid(*slice);
    }
  }
  // 22 slices in both ranges together, less the servers' two.
  EXPECT_EQ(leases, 20u);
  EXPECT_FALSE(uids.contains(kFirst));
  EXPECT_FALSE(uids.contains(kFirst + kShift)) << "the other server's";
}

TEST_F(Slices, ARangeWhoseFirstUidIsASandboxsIsRefused) {
  UidSlices one = open().value();
  while (one.take()) {
  }
  const auto other = UidSlices::open(file_, kFirst + kSliceSize, kLast + 5 * kSliceSize);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("is the server's"));
  EXPECT_TRUE(UidSlices::open(file_, kLast + 1, kLast + 5 * kSliceSize));
}

TEST_F(Slices, ALeaseEndsWithItsHolder) {
  for (int i = 0; i < 40; ++i) {
    UidSlices slices = open().value();
    for (int taken = 0; taken < 15; ++taken) ASSERT_TRUE(slices.take()) << i;
    EXPECT_FALSE(slices.take());
  }
}

TEST_F(Slices, AGivenBackSliceIsFreeForOthersAndTheLastToComeAgain) {
  UidSlices one = open().value();
  UidSlices other = open().value();
  const std::uint32_t slice = one.take().value();
  const std::uint32_t uid = one.host_uid(slice);
  one.give_back(slice);
  const auto next = [&other] { return other.host_uid(other.take().value()); };
  for (int i = 0; i < 13; ++i) EXPECT_NE(next(), uid);
  EXPECT_EQ(next(), uid);
  EXPECT_FALSE(one.take());
}

TEST_F(Slices, ASliceComesAgainOnlyAfter64Others) {
  constexpr std::uint32_t kMany = 400;
  UidSlices slices = UidSlices::open(file_, kFirst, kFirst + (kMany + 1) * kSliceSize - 1).value();
  std::deque<std::uint32_t> in_use;
  std::map<std::uint32_t, int> given_back_at;
  std::set<std::uint32_t> uids;
  int given_back = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::uint32_t slice = slices.take().value();
    ASSERT_EQ(std::count(in_use.begin(), in_use.end(), slice), 0);
    uids.insert(slice);
    ASSERT_EQ(slices.is_used_again(slice), given_back_at.contains(slice));
    if (const auto at = given_back_at.find(slice); at != given_back_at.end()) {
      ASSERT_GE(given_back - at->second, static_cast<int>(UidSlices::kApart));
    }
    in_use.push_back(slice);
    if (in_use.size() < 20 + static_cast<std::size_t>(i % 7)) continue;
    // In any order.
    const auto which = in_use.begin() + i % static_cast<int>(in_use.size());
    slices.give_back(*which);
    given_back_at[*which] = ++given_back;
    in_use.erase(which);
  }
  EXPECT_LE(uids.size(), UidSlices::kApart + 30) << "the same ones are used again";
}

TEST_F(Slices, ASliceThatAnotherLauncherHasTakenIsLeftOut) {
  constexpr std::uint32_t kLarge = kFirst + 201 * kSliceSize - 1;
  UidSlices one = UidSlices::open(file_, kFirst, kLarge).value();
  std::vector<std::uint32_t> mine;
  for (int i = 0; i < 100; ++i) mine.push_back(one.take().value());
  for (const std::uint32_t slice : mine) one.give_back(slice);
  UidSlices other = UidSlices::open(file_, kFirst, kLarge).value();
  std::set<std::uint32_t> uids;
  while (const auto slice = other.take()) uids.insert(other.host_uid(*slice));
  EXPECT_GE(uids.size(), 190u);
  EXPECT_FALSE(one.take()) << "all are in use";
}

TEST_F(Slices, WhatIsHeldIsNotTakenTwice) {
  UidSlices slices = open().value();
  std::set<std::uint32_t> taken;
  while (const auto slice = slices.take()) EXPECT_TRUE(taken.insert(*slice).second) << *slice;
  EXPECT_EQ(taken.size(), 15u);
}

TEST_F(Slices, TheMapShowsEverySliceAtItsPlaceAndTheNurserysAtZero) {
  std::vector<UidSlices> held;
  for (std::uint32_t own = 1; own < kSlices; ++own) {
    held.push_back(open().value());
    const UidSlices& slices = held.back();
    std::set<std::uint32_t> outside;
    for (const UidExtent& extent : slices.nursery_map()) {
      EXPECT_GT(extent.count, 0u) << "the kernel refuses an empty line";
      for (std::uint32_t at = 0; at < extent.count; at += kSliceSize) {
        EXPECT_TRUE(outside.insert(extent.outside + at).second);
        if (extent.inside == 0) {
          EXPECT_EQ(extent.outside, slices.nursery_uid());
        } else {
          EXPECT_EQ(extent.outside + at, slices.host_uid(extent.inside + at));
        }
      }
    }
    EXPECT_EQ(outside.size(), kSlices - 1) << "all but the server's";
    EXPECT_FALSE(outside.contains(kFirst));
  }
}

TEST_F(Slices, TheNurserysNumbersAreNotTheHosts) {
  std::set<std::uint32_t> shifts;
  for (int i = 0; i < 8; ++i) {
    UidSlices slices = open().value();
    const std::uint32_t slice = slices.take().value();
    EXPECT_GE(slice, kSliceSize) << "0 is the nursery's own";
    EXPECT_EQ(slice % kSliceSize, 0u);
    EXPECT_LT(slice, 0xffff0000u);
    shifts.insert(slice - (slices.host_uid(slice) - kFirst));
  }
  EXPECT_GT(shifts.size(), 4u) << "a guest could compute them";
}

TEST_F(Slices, WhenAllAreInUseTheMessageSaysByWhom) {
  int ready[2];
  int go[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto slices = open();
    for (int i = 0; i < 11; ++i) (void)slices->take();
    (void)!::write(ready[1], "r", 1);
    char byte = 0;
    ::close(go[1]);
    (void)!::read(go[0], &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  UidSlices slices = open().value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(slices.take());
  const auto refused = slices.take();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kResourceExhausted);
  EXPECT_THAT(refused.error().message(), HasSubstr("all 16 uid slices of this host are in use: 12 "
                                                   "by "));
  EXPECT_THAT(refused.error().message(), HasSubstr("(pid " + std::to_string(child) + "), 4 by "));
  EXPECT_THAT(refused.error().message(), HasSubstr("(pid " + std::to_string(::getpid()) + ")"));
  ::close(go[0]);
  ::close(go[1]);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(slices.take()) << "its leases ended with it";
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(Slices, AMessageNamesFiveHoldersAndCountsTheOthers) {
  for (const int others : {4, 5}) {
    std::filesystem::remove(file_);
    int ready[2];
    int go[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(go), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < others; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        const auto slices = open();
        (void)!::write(ready[1], "r", 1);
        char byte = 0;
        ::close(go[1]);
        (void)!::read(go[0], &byte, 1);
        ::_exit(0);
      }
      children.push_back(child);
      char byte = 0;
      ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    }
    UidSlices slices = open().value();
    while (slices.take()) {
    }
    const std::string message = slices.take().error().message();
    EXPECT_EQ(message.find(" and others (1)") != std::string::npos, others == 5) << message;
    EXPECT_EQ(message.find(" and others") != std::string::npos, others == 5) << message;
    EXPECT_EQ(std::count(message.begin(), message.end(), '('), others == 5 ? 6 : 5) << message;
    for (const int end : {ready[0], ready[1], go[0], go[1]}) ::close(end);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  }
}

TEST_F(Slices, OnlyTheSlicesOfTheRangeAreCounted) {
  // The owner of the range behind this one is not why this one is full.
  const UidSlices behind = UidSlices::open(file_, kLast + 1, kLast + 5 * kSliceSize).value();
  UidSlices slices = open().value();
  while (slices.take()) {
  }
  EXPECT_THAT(slices.take().error().message(), HasSubstr("are in use: 16 by "));
}

// As /etc/subuid usually gives them.
constexpr SubordinateUids kOfAUser{.host_first = 100'000, .here_first = 1, .count = 65'536};

TEST_F(Slices, SubordinateIdsGiveSmallSlicesAtMultiplesOfTheirSize) {
  UidSlices slices = UidSlices::open_subordinate(file_, kOfAUser).value();
  std::set<std::uint32_t> firsts;
  while (const auto slice = slices.take()) {
    const std::uint32_t here = slices.host_uid(*slice);
    const std::uint32_t on_host = here - kOfAUser.here_first + kOfAUser.host_first;
    EXPECT_EQ(on_host % kSmallSliceSize, 0u);
    EXPECT_GE(on_host, kOfAUser.host_first);
    EXPECT_LE(on_host + kSmallSliceSize, kOfAUser.host_first + kOfAUser.count);
    EXPECT_TRUE(firsts.insert(here).second) << here;
  }
  EXPECT_EQ(firsts.size(), 31u);
}

TEST_F(Slices, LaunchersOfOneUserNeverShareASubordinateUid) {
  UidSlices one = UidSlices::open_subordinate(file_, kOfAUser).value();
  // The administrator has given the user other ids meanwhile, half of them the same.
  const SubordinateUids moved{.host_first = 132'000, .here_first = 1, .count = 65'536};
  UidSlices other = UidSlices::open_subordinate(file_, moved).value();
  std::set<std::uint32_t> on_host;
  const auto take_all = [&on_host](UidSlices& slices, const SubordinateUids& uids, int most) {
    for (int i = 0; i < most; ++i) {
      const auto slice = slices.take();
      if (!slice) return;
      EXPECT_TRUE(
          on_host.insert(slices.host_uid(*slice) - uids.here_first + uids.host_first).second);
    }
  };
  take_all(one, kOfAUser, 20);
  take_all(other, moved, 100);
  take_all(one, kOfAUser, 100);
  EXPECT_EQ(on_host.size(), 47u) << "every whole slice of both ranges";
}

TEST_F(Slices, TheUserIsTheRootOfItsNurseries) {
  UidSlices slices = UidSlices::open_subordinate(file_, kOfAUser).value();
  EXPECT_EQ(slices.nursery_uid(), 0u);
  const std::vector<UidExtent> map = slices.nursery_map();
  ASSERT_EQ(map.size(), 2u);
  EXPECT_EQ(map[0], (UidExtent{0, 0, 1}));
  EXPECT_EQ(map[1].count, 31 * kSmallSliceSize);
  EXPECT_GE(map[1].inside, kSmallSliceSize);
  const std::uint32_t slice = slices.take().value();
  EXPECT_EQ(slices.host_uid(slice) - map[1].outside, slice - map[1].inside);
}

TEST_F(Slices, TooFewSubordinateIdsAreRefused) {
  const SubordinateUids few{.host_first = 100'000, .here_first = 1, .count = kSmallSliceSize};
  const auto refused = UidSlices::open_subordinate(file_, few);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("too few"));
}

TEST_F(Slices, AUserWhoseSlicesAreAllInUseReadsWhatToDo) {
  const SubordinateUids one{
      .host_first = 2 * kSmallSliceSize, .here_first = 1, .count = kSmallSliceSize};
  UidSlices slices = UidSlices::open_subordinate(file_, one).value();
  const std::uint32_t slice = slices.take().value();
  const auto refused = slices.take();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("give this user more subordinate ids"));
  slices.give_back(slice);
  EXPECT_TRUE(slices.take());
}

}  // namespace
}  // namespace glovebox::launcher
