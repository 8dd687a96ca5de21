// How owners share the server's memory for what waits to be read.
#include "base/memory_budget.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(MemoryBudget, OneOwnerGetsHalf) {
  MemoryBudget budget(100);
  EXPECT_EQ(budget.add("one", 30), 30u);
  EXPECT_EQ(budget.add("one", 30), 20u);
  EXPECT_EQ(budget.add("one", 1), 0u);
  EXPECT_EQ(budget.held(), 50u);
}

TEST(MemoryBudget, AnotherOwnerGetsHalfOfTheRest) {
  MemoryBudget budget(100);
  budget.add("hostile", 1000);
  EXPECT_EQ(budget.add("victim", 5), 5u);
  EXPECT_EQ(budget.add("victim", 1000), 20u);
  EXPECT_EQ(budget.held(), 75u);
}

TEST(MemoryBudget, WhatIsReleasedIsFree) {
  MemoryBudget budget(100);
  budget.add("one", 50);
  budget.add("other", 25);
  budget.release("one", 50);
  EXPECT_EQ(budget.held(), 25u);
  EXPECT_EQ(budget.add("other", 1000), 25u);
  budget.release("other", 50);
  EXPECT_EQ(budget.held(), 0u);
  EXPECT_EQ(budget.add("one", 1000), 50u);
}

TEST(MemoryBudget, AClaimIsForAllOrNothing) {
  MemoryBudget budget(100);
  EXPECT_EQ(budget.claim("one", 51), nullptr);
  EXPECT_EQ(budget.held(), 0u);
  std::shared_ptr<void> claim = budget.claim("one", 50);
  EXPECT_NE(claim, nullptr);
  EXPECT_EQ(budget.claim("one", 1), nullptr);
  EXPECT_NE(budget.claim("one", 0), nullptr) << "nothing is always there";
  EXPECT_NE(budget.claim("other", 25), nullptr);
  claim.reset();
  EXPECT_EQ(budget.held(), 0u);
}

}  // namespace
}  // namespace glovebox
