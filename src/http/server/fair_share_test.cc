#include "http/server/fair_share.h"

#include <gtest/gtest.h>

#include <list>

namespace glovebox::http {
namespace {

using Kind = RequestOwner::Kind;

const RequestOwner kHostile{Kind::kProject, "hostile"};
const RequestOwner kHostilePorts{Kind::kVisitor, "hostile"};
const RequestOwner kVictim{Kind::kProject, "victim"};

class SharedAmong : public ::testing::Test {
 protected:
  // How many it got.
  std::size_t take_all(const RequestOwner& owner) {
    std::size_t count = 0;
    for (; share_.has_room(owner); ++count) parts_.emplace_back(share_, owner, 1);
    return count;
  }

  FairShare share_{1200};
  std::list<FairShare::Part> parts_;
};

TEST_F(SharedAmong, OneOwnerLeavesHalfToOthers) {
  EXPECT_EQ(take_all(kHostile), 600u);
  EXPECT_EQ(share_.total(), 600u);
  EXPECT_EQ(take_all(kVictim), 300u);
}

TEST_F(SharedAmong, AProjectAndItsVisitorsAndStrangersLeaveAPartToOthers) {
  take_all(kHostilePorts);
  take_all(kHostile);
  take_all({Kind::kAnonymous, "10.0.0.1"});
  EXPECT_GE(take_all(kVictim), 100u);
}

TEST_F(SharedAmong, VisitorsDoNotUseUpTheShareOfTheirProject) {
  EXPECT_EQ(take_all({Kind::kVisitor, "victim"}), 400u);
  EXPECT_EQ(take_all(kVictim), 200u);
}

TEST_F(SharedAmong, AProjectHasNoMoreWithItsVisitorsThanWithoutThem) {
  take_all(kHostilePorts);
  take_all(kHostile);
  EXPECT_EQ(share_.total(), 600u);
  EXPECT_EQ(take_all(kHostilePorts), 0u);
  EXPECT_EQ(take_all(kVictim), 300u);
}

TEST_F(SharedAmong, VisitorsThatLeaveMakeRoomForTheirProject) {
  take_all(kHostilePorts);
  take_all(kHostile);
  parts_.pop_front();
  EXPECT_EQ(take_all(kHostile), 1u);
  parts_.clear();
  EXPECT_EQ(take_all(kHostilePorts), 400u);
}

TEST_F(SharedAmong, StrangersTogetherLeaveHalfToProjects) {
  for (int i = 0; i < 2000; ++i) take_all({Kind::kAnonymous, "net" + std::to_string(i)});
  EXPECT_LE(share_.total(), 600u);
  EXPECT_EQ(take_all(kVictim), 300u);
}

TEST_F(SharedAmong, AmongStrangersOneNetworkLeavesRoomToAnother) {
  EXPECT_EQ(take_all({Kind::kAnonymous, "10.0.0.1"}), 400u);
  EXPECT_EQ(take_all({Kind::kAnonymous, "10.0.0.2"}), 134u);
}

TEST_F(SharedAmong, WhatIsGivenBackIsFree) {
  take_all(kHostile);
  take_all(kVictim);
  parts_.pop_front();
  EXPECT_EQ(share_.total(), 899u);
  parts_.clear();
  EXPECT_EQ(share_.total(), 0u);
  EXPECT_EQ(take_all({Kind::kAnonymous, "10.0.0.1"}), 400u);
}

TEST_F(SharedAmong, APartGrowsAndShrinks) {
  FairShare::Part part(share_, kHostile);
  part.set(599);
  EXPECT_TRUE(part.may_grow());
  part.set(600);
  EXPECT_FALSE(part.may_grow());
  EXPECT_TRUE(share_.has_room(kVictim));
  part.set(10);
  EXPECT_EQ(share_.total(), 10u);
  EXPECT_TRUE(part.may_grow());
}

TEST_F(SharedAmong, NothingIsFreeBeyondAll) {
  FairShare::Part part(share_, kHostile);
  part.set(1300);  // bytes come in pieces, so one can pass the limit
  EXPECT_FALSE(share_.has_room(kVictim));
}

}  // namespace
}  // namespace glovebox::http
