#include "http/server/connection_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace glovebox::http {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OwnersOfConnections : public ::testing::Test {
 protected:
  // A connection that waits, and whose name is noted when it is closed.
  ConnectionOwners::Membership& add(const std::string& name, const std::string& network,
                                    const std::string& project = "") {
    memberships_.push_back(std::make_unique<ConnectionOwners::Membership>(
        owners_, network, [this, name] { cut_.push_back(name); }));
    if (!project.empty()) memberships_.back()->set_project(project);
    memberships_.back()->set_waiting(true);
    return *memberships_.back();
  }

  ConnectionOwners owners_;
  std::vector<std::string> cut_;
  std::vector<std::unique_ptr<ConnectionOwners::Membership>> memberships_;
};

TEST_F(OwnersOfConnections, TheLongestWaitingOfTheLargestOwnerGoes) {
  add("small", "10.0.0.1", "victim");
  add("first", "10.0.0.1", "hostile");
  add("second", "10.0.0.1", "hostile");
  EXPECT_TRUE(owners_.make_room());
  EXPECT_THAT(cut_, ElementsAre("first"));
}

TEST_F(OwnersOfConnections, StrangersTogetherAreOneOwner) {
  add("a", "10.0.0.1", "victim");
  add("b", "10.0.0.1", "victim");
  for (int i = 0; i < 3; ++i) add("stranger" + std::to_string(i), "10.0.1." + std::to_string(i));
  EXPECT_TRUE(owners_.make_room());
  EXPECT_THAT(cut_, ElementsAre(::testing::StartsWith("stranger")));
}

TEST_F(OwnersOfConnections, AmongStrangersTheLargestNetworkPays) {
  add("one", "10.0.0.1");
  add("two", "10.0.0.2");
  add("three", "10.0.0.2");
  EXPECT_TRUE(owners_.make_room());
  EXPECT_THAT(cut_, ElementsAre("two"));
}

TEST_F(OwnersOfConnections, AStrangerDoesNotPayForAProjectThatHasMore) {
  add("stranger", "10.0.0.1");
  add("first", "10.0.0.1", "hostile");
  add("second", "10.0.0.1", "hostile");
  EXPECT_TRUE(owners_.make_room());
  EXPECT_THAT(cut_, ElementsAre("first"));
}

TEST_F(OwnersOfConnections, OneThatIsServedIsNotClosed) {
  add("served", "10.0.0.1", "hostile").set_waiting(false);
  add("also served", "10.0.0.1", "hostile").set_waiting(false);
  EXPECT_FALSE(owners_.make_room());
  EXPECT_THAT(cut_, IsEmpty());
  add("waits", "10.0.0.1", "victim");
  EXPECT_TRUE(owners_.make_room());
  EXPECT_THAT(cut_, ElementsAre("waits"));
}

TEST_F(OwnersOfConnections, OneThatWasClosedOrHasLeftCountsNoMore) {
  add("first", "10.0.0.1", "hostile");
  ConnectionOwners::Membership& second = add("second", "10.0.0.1", "hostile");
  add("small", "10.0.0.1", "victim");
  EXPECT_TRUE(owners_.make_room());
  second.leave();
  second.leave();
  EXPECT_TRUE(owners_.make_room());
  EXPECT_THAT(cut_, ElementsAre("first", "small"));
  EXPECT_FALSE(owners_.make_room());
}

TEST_F(OwnersOfConnections, TheLastProjectCounts) {
  ConnectionOwners::Membership& membership = add("moved", "10.0.0.1", "victim");
  add("small", "10.0.0.1", "victim");
  add("other", "10.0.0.1", "hostile");
  membership.set_project("hostile");
  EXPECT_TRUE(owners_.make_room());
  EXPECT_THAT(cut_, ElementsAre("other"));
  EXPECT_TRUE(owners_.make_room());
  EXPECT_TRUE(owners_.make_room());
  EXPECT_FALSE(owners_.make_room());
}

}  // namespace
}  // namespace glovebox::http
