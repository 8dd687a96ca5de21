// How archives that arrive share the disk.
#include "images/arriving_bytes.h"

#include <gtest/gtest.h>

namespace glovebox::images {
namespace {

TEST(ArrivingBytes, OneAloneGetsHalf) {
  const auto all = std::make_shared<ArrivingBytes>(100);
  ArrivingBytes::Part one(all);
  EXPECT_TRUE(one.grow_to(20));
  EXPECT_TRUE(one.grow_to(50));
  EXPECT_FALSE(one.grow_to(51));
  EXPECT_EQ(all->total(), 50u) << "what was refused is not taken";
}

TEST(ArrivingBytes, ALaterOneGetsHalfOfWhatIsLeft) {
  const auto all = std::make_shared<ArrivingBytes>(100);
  ArrivingBytes::Part one(all);
  ASSERT_TRUE(one.grow_to(50));
  ArrivingBytes::Part other(all);
  EXPECT_TRUE(other.grow_to(25));
  EXPECT_FALSE(other.grow_to(26));
  EXPECT_FALSE(one.grow_to(51));
}

TEST(ArrivingBytes, WhatHasArrivedIsGivenBack) {
  const auto all = std::make_shared<ArrivingBytes>(100);
  ArrivingBytes::Part one(all);
  {
    ArrivingBytes::Part other(all);
    ASSERT_TRUE(other.grow_to(50));
    EXPECT_FALSE(one.grow_to(30));
  }
  EXPECT_EQ(all->total(), 0u);
  EXPECT_TRUE(one.grow_to(30));
}

TEST(ArrivingBytes, ZeroIsNoLimit) {
  const auto all = std::make_shared<ArrivingBytes>(0);
  ArrivingBytes::Part one(all);
  EXPECT_TRUE(one.grow_to(1ull << 50));
}

}  // namespace
}  // namespace glovebox::images
