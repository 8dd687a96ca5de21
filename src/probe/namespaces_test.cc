#include "probe/namespaces.h"

#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

TEST(Namespaces, OneThatIsMissingIsNotAllOfThem) {
  NamespaceFacts facts;
  EXPECT_FALSE(facts.all_work());
  facts.trials = {{"pid", Attempt::worked()}, {"net", Attempt::failed("clone", EINVAL)}};
  EXPECT_FALSE(facts.all_work());
  facts.trials.pop_back();
  EXPECT_TRUE(facts.all_work());
}

TEST(Namespaces, DistinguishesAKernelWithoutNamespacesFromARefusal) {
  Findings findings;
  explain({.trials = {{"net", Attempt::failed("clone", EINVAL)},
                      {"pid", Attempt::failed("clone", EPERM)}}},
          findings);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].state, State::kMissing);
  EXPECT_NE(findings[0].fix.find("built without"), std::string::npos);
  EXPECT_EQ(findings[1].fix.find("built without"), std::string::npos);
}

}  // namespace
}  // namespace glovebox::probe
