#include "probe/kvm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/kvm_guest.h"

namespace glovebox::probe {
namespace {

using ::testing::HasSubstr;
using Verdict = KvmFacts::Verdict;

constexpr double kNative = 0.3e-9;

TEST(Kvm, KnowsTheSumOfTheLoop) {
  EXPECT_EQ(expected_sum(1), 1u);
  EXPECT_EQ(expected_sum(100), 5050u);
  EXPECT_EQ(expected_sum(50'000'000), 0x4f759840u);  // as this CPU computed it natively
}

TEST(Kvm, ARightGuestAtNativeSpeedWorks) {
  const KvmFacts facts = judge_guest(
      {.rounds = 50'000'000, .finished = true, .right = true, .seconds = 0.016}, kNative);
  EXPECT_EQ(facts.verdict, Verdict::kWorks) << facts.detail;
}

TEST(Kvm, AnEmulatedGuestIsTooSlow) {
  // Seen with kvm_pvm: right, and thousands of times slower.
  const KvmFacts facts =
      judge_guest({.rounds = 160'000, .finished = false, .right = false, .seconds = 0.25}, kNative);
  EXPECT_EQ(facts.verdict, Verdict::kTooSlow);
  EXPECT_THAT(facts.detail, HasSubstr("5200 times slower"));
}

TEST(Kvm, ASlowGuestIsTooSlowEvenIfItFinishes) {
  const KvmFacts facts =
      judge_guest({.rounds = 50'000'000, .finished = true, .right = true, .seconds = 50}, kNative);
  EXPECT_EQ(facts.verdict, Verdict::kTooSlow);
}

TEST(Kvm, AWrongSumIsNotForgivenForSpeed) {
  const KvmFacts facts = judge_guest(
      {.rounds = 50'000'000, .finished = true, .right = false, .seconds = 0.016}, kNative);
  EXPECT_EQ(facts.verdict, Verdict::kWrong);
}

TEST(Kvm, AGuestThatGetsNowhereIsTooSlow) {
  const KvmFacts facts =
      judge_guest({.rounds = 0, .finished = false, .right = false, .seconds = 0.25}, kNative);
  EXPECT_EQ(facts.verdict, Verdict::kTooSlow);
}

TEST(Kvm, AnUnfinishedGuestAtAFairSpeedIsABusyHost) {
  const KvmFacts facts = judge_guest(
      {.rounds = 40'000'000, .finished = false, .right = false, .seconds = 0.03}, kNative);
  EXPECT_EQ(facts.verdict, Verdict::kBusy);
}

TEST(Kvm, WhereKvmOpensAShortGuestFinishesAndIsRight) {
  if (!probe_kvm().opened || !kCanRunGuest) GTEST_SKIP() << "no /dev/kvm for us";
  const Attempt ran = attempt_in_helper(
      [] {
        GuestRun run;
        Attempt attempt = run_counting_guest(2000, std::chrono::seconds(5), run);
        attempt.value = (run.finished ? 1 : 0) + (run.right ? 2 : 0);
        return attempt;
      },
      std::chrono::seconds(6));
  EXPECT_TRUE(ran.ok()) << ran.why();
  EXPECT_EQ(ran.value, 3);
}

TEST(Kvm, WhereKvmOpensAGuestReallyRunsSomeRounds) {
  const KvmFacts facts = probe_kvm();
  if (!facts.opened || !kCanRunGuest) GTEST_SKIP() << facts.detail;
  // Whatever its speed: it was measured, and no wrong sum was seen.
  EXPECT_GT(facts.slowdown, 0) << facts.detail;
  EXPECT_NE(facts.verdict, Verdict::kWrong) << facts.detail;
}

}  // namespace
}  // namespace glovebox::probe
