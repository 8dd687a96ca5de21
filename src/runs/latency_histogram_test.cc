#include "runs/latency_histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::runs {
namespace {

using std::chrono::microseconds;

double percentile_us(const LatencyHistogram& histogram, double part) {
  return static_cast<double>(histogram.percentile(part).value().count());
}

TEST(LatencyHistogram, PercentilesAreWithinFivePercent) {
  LatencyHistogram histogram;
  for (int us = 1'000; us <= 100'000; us += 10) histogram.add(microseconds(us));
  EXPECT_NEAR(percentile_us(histogram, 0.5), 50'500, 50'500 * 0.05);
  EXPECT_NEAR(percentile_us(histogram, 0.99), 99'010, 99'010 * 0.05);
}

TEST(LatencyHistogram, AnEmptyOneHasNone) { EXPECT_FALSE(LatencyHistogram().percentile(0.5)); }

TEST(LatencyHistogram, WhatIsBeyondItsRangeCountsAtItsEnds) {
  LatencyHistogram histogram;
  histogram.add(microseconds(0));
  histogram.add(std::chrono::hours(5));
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_LT(percentile_us(histogram, 0.5), 21);
  EXPECT_GT(percentile_us(histogram, 1.0), 50e6);
}

TEST(LatencyHistogram, TwoAddUp) {
  LatencyHistogram one;
  LatencyHistogram two;
  one.add(microseconds(1'000));
  two.add(microseconds(9'000));
  one.add(two);
  EXPECT_EQ(one.count(), 2u);
  EXPECT_NEAR(percentile_us(one, 1.0), 9'000, 450);
}

}  // namespace
}  // namespace glovebox::runs
