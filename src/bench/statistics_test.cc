#include "bench/statistics.h"

#include <gtest/gtest.h>

namespace glovebox::bench {
namespace {

Round round_of(std::vector<double> ms, double seconds = 0) {
  const std::uint64_t runs = ms.size();
  return {.ms = std::move(ms), .runs = runs, .errors = 0, .seconds = seconds};
}

TEST(Statistics, APercentileIsAMeasuredTime) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({7}, 0.99), 7);
  EXPECT_EQ(percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0.5), 2);
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
  EXPECT_EQ(percentile(hundred, 1.0), 100);
}

TEST(Statistics, TheMedianIsOfAllRoundsAndTheTailOfTheBest) {
  const Figures figures =
      figures_of({round_of({1, 1, 90}), round_of({2, 2, 5}), round_of({3, 3, 40})});
  EXPECT_EQ(figures.n, 9u);
  EXPECT_EQ(figures.p50_ms, 3);
  EXPECT_EQ(figures.p99_ms, 5);
}

TEST(Statistics, TheTailOfABestRoundIsNotBelowTheMedianOfAll) {
  const Figures figures =
      figures_of({round_of({2, 2, 3}), round_of({4, 4, 9}), round_of({4, 5, 9})});
  EXPECT_EQ(figures.p50_ms, 4);
  EXPECT_EQ(figures.p99_ms, 4);
}

TEST(Statistics, ARoundWithoutASuccessIsNotTheBest) {
  Round failed;
  failed.errors = 3;
  const Figures figures = figures_of({failed, round_of({4})});
  EXPECT_EQ(figures.p99_ms, 4);
  EXPECT_EQ(figures.errors, 3u);
}

TEST(Statistics, PausesDoNotCountAndOverlappingCallsDo) {
  EXPECT_DOUBLE_EQ(figures_of({round_of({10, 10})}).per_second, 100);
  EXPECT_DOUBLE_EQ(figures_of({round_of({10, 10, 10, 10}, 0.02)}).per_second, 200);
}

}  // namespace
}  // namespace glovebox::bench
