// Whose things go first when projects together keep too much.
#include "packages/eviction_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::packages {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EvictionOrder, OfOneOwnerTheOldestGoesFirst) {
  EXPECT_THAT(eviction_order({{"new", "one", 1, 30}, {"old", "one", 5, 10}, {"mid", "one", 1, 20}}),
              ElementsAre("old", "mid", "new"));
  EXPECT_THAT(eviction_order({}), IsEmpty());
}

TEST(EvictionOrder, TheOwnerThatKeepsMostGivesUpFirst) {
  // The victim's is by far the oldest; it goes when no other keeps more.
  EXPECT_THAT(eviction_order({{"victims", "victim", 10, 1},
                              {"h1", "hostile", 8, 100},
                              {"h2", "hostile", 8, 101},
                              {"h3", "hostile", 8, 102}}),
              ElementsAre("h1", "h2", "victims", "h3"));
}

TEST(EvictionOrder, WhatCannotGoCountsForItsOwner) {
  EXPECT_THAT(eviction_order({{"victims", "victim", 10, 1},
                              {"pinned", "hostile", 90, 2, true},
                              {"loose", "hostile", 1, 100}}),
              ElementsAre("loose", "victims"));
}

TEST(EvictionOrder, OfOwnersThatKeepTheSameTheOldestGoesFirst) {
  EXPECT_THAT(eviction_order({{"a", "one", 4, 20}, {"b", "two", 4, 10}, {"c", "three", 4, 30}}),
              ElementsAre("b", "a", "c"));
}

}  // namespace
}  // namespace glovebox::packages
