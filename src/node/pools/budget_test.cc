#include "node/pools/budget.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace glovebox::node {
namespace {

TEST(Budget, FitsUpToItsLimits) {
  Budget budget(2, 100);
  EXPECT_TRUE(budget.fits(2, 100));
  EXPECT_FALSE(budget.fits(3, 0));
  EXPECT_FALSE(budget.fits(0, 101));
  const Charge first(budget, 40);
  EXPECT_TRUE(budget.fits(1, 60));
  EXPECT_FALSE(budget.fits(1, 61));
  EXPECT_FALSE(budget.fits(2, 0));
}

TEST(Budget, AdoptedSandboxesCountBeyondTheLimits) {
  Budget budget(1, 100);
  const Charge first(budget, 150, Charge::Of::kThere);
  const Charge second(budget, 0, Charge::Of::kThere);
  EXPECT_EQ(budget.sandboxes(), 2u);
  EXPECT_EQ(budget.bytes(), 150u);
  EXPECT_FALSE(budget.fits(0, 0));
}

TEST(Budget, AChargeIsGivenBackOnceAndTheOwnerOfTheBudgetIsTold) {
  Budget budget(10, 100);
  int released = 0;
  budget.on_release([&] { ++released; });
  {
    Charge outer = [&] {
      Charge inner(budget, 30);
      return Charge(std::move(inner));
    }();
    EXPECT_EQ(released, 0);
    EXPECT_EQ(budget.bytes(), 30u);
    EXPECT_EQ(budget.sandboxes(), 1u);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(budget.bytes(), 0u);
  EXPECT_EQ(budget.sandboxes(), 0u);
}

TEST(Budget, AnOwnerWithTwoChargesReleasesOne) {
  Budget budget(100, 100);
  Charge kept(budget, 30);
  kept.give_to("mine");
  {
    Charge released(budget, 40);
    released.give_to("mine");
    EXPECT_TRUE(budget.holds_more_than_half("mine"));
  }
  EXPECT_FALSE(budget.holds_more_than_half("mine"));
  // Exactly what is left counts: 30 and 20 are half, 30 and 21 are more.
  Charge more(budget, 20);
  more.give_to("mine");
  EXPECT_FALSE(budget.holds_more_than_half("mine"));
  more.change(21);
  EXPECT_TRUE(budget.holds_more_than_half("mine"));
  more.change(20);
  EXPECT_FALSE(budget.holds_more_than_half("mine"));
}

TEST(Budget, AnOwnersSandboxesCountToo) {
  Budget budget(4, 1000);
  std::vector<Charge> charges;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(budget.holds_more_than_half("mine"));
    charges.emplace_back(budget, 1);
    charges.back().give_to("mine");
  }
  EXPECT_TRUE(budget.holds_more_than_half("mine"));
  EXPECT_FALSE(budget.holds_more_than_half("other"));
  charges.pop_back();
  EXPECT_FALSE(budget.holds_more_than_half("mine"));
  charges.clear();
  EXPECT_FALSE(budget.holds_more_than_half("mine"));
}

TEST(Budget, AChargeCountsForItsOwnerWithWhatItHasThen) {
  Budget budget(100, 100);
  Charge charge(budget, 10);
  charge.change(60);
  EXPECT_EQ(budget.bytes(), 60u);
  EXPECT_FALSE(budget.holds_more_than_half("mine"));
  charge.give_to("mine");
  EXPECT_TRUE(budget.holds_more_than_half("mine"));
}

}  // namespace
}  // namespace glovebox::node
