#include "store/key_usage.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace glovebox::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Principal principal(KeyLimits limits) {
  return Principal{.key = KeyId::make(), .project = "default", .limits = limits};
}

const KeyUsage::TimePoint kStart{seconds(1000)};

TEST(KeyUsage, WithoutLimitsEverythingIsAdmitted) {
  KeyUsage usage;
  const Principal who = principal({});
  std::vector<Admission> held;
  for (int i = 0; i < 1000; ++i) {
    auto admission = usage.admit(who, 1ull << 40, kStart);
    ASSERT_TRUE(admission);
    held.push_back(std::move(*admission));
  }
  EXPECT_EQ(usage.in_flight(who.key), 1000u);
}

TEST(KeyUsage, ARunInFlightMakesRoomWhenItEnds) {
  KeyUsage usage;
  const Principal who = principal({.max_in_flight = 2});
  auto first = usage.admit(who, 0, kStart);
  auto second = usage.admit(who, 0, kStart);
  ASSERT_TRUE(first && second);
  auto third = usage.admit(who, 0, kStart);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().error.code(), Errc::kResourceExhausted);
  EXPECT_EQ(third.error().retry_after, seconds(1));
  EXPECT_NE(third.error().error.message().find("in flight"), std::string::npos);
  first->release();
  EXPECT_TRUE(usage.admit(who, 0, kStart));
}

TEST(KeyUsage, AMovedAdmissionIsReleasedOnce) {
  KeyUsage usage;
  const Principal who = principal({.max_in_flight = 5});
  {
    Admission outer;
    {
      auto inner = usage.admit(who, 0, kStart);
      ASSERT_TRUE(inner);
      outer = std::move(*inner);
    }
    EXPECT_EQ(usage.in_flight(who.key), 1u);
  }
  EXPECT_EQ(usage.in_flight(who.key), 0u);
}

TEST(KeyUsage, AssignmentReleasesTheAdmissionThatWasHeld) {
  KeyUsage usage;
  const Principal who = principal({.max_in_flight = 2, .max_memory_bytes = 100});
  auto held = usage.admit(who, 60, kStart);
  auto next = usage.admit(who, 40, kStart);
  ASSERT_TRUE(held && next);
  EXPECT_EQ(usage.in_flight(who.key), 2u);
  *held = std::move(*next);
  EXPECT_EQ(usage.in_flight(who.key), 1u);
  auto more = usage.admit(who, 60, kStart);  // the memory of the first is free again, too
  EXPECT_TRUE(more);
  EXPECT_FALSE(usage.admit(who, 1, kStart));
  // Also when nothing takes its place, or it takes its own.
  Admission& itself = *more;
  *more = std::move(itself);
  EXPECT_EQ(usage.in_flight(who.key), 2u);
  *more = Admission();
  EXPECT_EQ(usage.in_flight(who.key), 1u);
}

TEST(KeyUsage, AKeyThatHoldsMoreThanItsLimitGetsNoMore) {
  KeyUsage usage;
  const Principal who = principal({.max_memory_bytes = 100});
  // A session that was there before the key's limit was lowered.
  const Admission held = usage.hold(who.key, 150);
  const auto refused = usage.admit(who, 1, kStart);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code(), Errc::kResourceExhausted);
}

TEST(KeyUsage, MemoryIsCountedOverAllRuns) {
  KeyUsage usage;
  const Principal who = principal({.max_memory_bytes = 1000u << 20});
  auto first = usage.admit(who, 600u << 20, kStart);
  ASSERT_TRUE(first);
  auto second = usage.admit(who, 500u << 20, kStart);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().error.code(), Errc::kResourceExhausted);
  EXPECT_NE(second.error().error.message().find("600 MB"), std::string::npos);
  EXPECT_TRUE(usage.admit(who, 400u << 20, kStart));
}

TEST(KeyUsage, ARunThatCanNeverFitIsToldSo) {
  KeyUsage usage;
  const Principal who = principal({.max_memory_bytes = 100u << 20});
  auto refused = usage.admit(who, 101u << 20, kStart);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code(), Errc::kPolicy);
  EXPECT_EQ(refused.error().retry_after, seconds(0));
}

TEST(KeyUsage, InAnyMinuteThereAreAtMostSoManyRuns) {
  KeyUsage usage;
  const Principal who = principal({.runs_per_minute = 3});
  ASSERT_TRUE(usage.admit(who, 0, kStart));
  ASSERT_TRUE(usage.admit(who, 0, kStart + seconds(10)));
  ASSERT_TRUE(usage.admit(who, 0, kStart + seconds(20)));
  auto refused = usage.admit(who, 0, kStart + milliseconds(20'500));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().retry_after, seconds(40));
  EXPECT_NE(refused.error().error.message().find("40 s"), std::string::npos);
  EXPECT_FALSE(usage.admit(who, 0, kStart + milliseconds(59'999)));
  EXPECT_TRUE(usage.admit(who, 0, kStart + seconds(60)));
  EXPECT_FALSE(usage.admit(who, 0, kStart + seconds(61)));
}

TEST(KeyUsage, ARefusalIsNotARun) {
  KeyUsage usage;
  const Principal who = principal({.max_in_flight = 1, .runs_per_minute = 2});
  auto running = usage.admit(who, 0, kStart);
  ASSERT_TRUE(running);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(usage.admit(who, 0, kStart));
  running->release();
  EXPECT_TRUE(usage.admit(who, 0, kStart));
}

TEST(KeyUsage, WhatIsHeldCountsAsMemoryAndAsNoRun) {
  KeyUsage usage;
  const Principal who = principal({.max_in_flight = 1, .max_memory_bytes = 100});
  {
    const Admission held = usage.hold(who.key, 60);
    EXPECT_EQ(usage.in_flight(who.key), 0u);
    EXPECT_FALSE(usage.admit(who, 50, kStart));
    EXPECT_TRUE(usage.admit(who, 40, kStart));
  }
  EXPECT_TRUE(usage.admit(who, 100, kStart));
  EXPECT_EQ(usage.in_flight(who.key), 0u);
}

TEST(KeyUsage, KeysDoNotShare) {
  KeyUsage usage;
  auto first = usage.admit(principal({.max_in_flight = 1}), 0, kStart);
  EXPECT_TRUE(first);
  EXPECT_TRUE(usage.admit(principal({.max_in_flight = 1}), 0, kStart));
}

TEST(KeyUsage, AnAdmissionMayOutliveTheAccounts) {
  auto usage = std::make_unique<KeyUsage>();
  auto admission = usage->admit(principal({.max_in_flight = 1}), 0, kStart);
  usage.reset();
  admission->release();  // the address sanitizer would see it
}

}  // namespace
}  // namespace glovebox::store
