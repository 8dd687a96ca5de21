#include "dialects/e2b/cpu_usage.h"

#include <gtest/gtest.h>

namespace glovebox::e2b {
namespace {

sessions::SessionSample at(std::int64_t ms, std::optional<std::uint64_t> cpu_us) {
  sessions::SessionSample sample;
  sample.at_ms = ms;
  sample.cpu_us = cpu_us;
  return sample;
}
double used(const sessions::SessionSample& before, const sessions::SessionSample& sample,
            std::uint32_t cpus = 1) {
  return cpu_used_percent(sample, &before, cpus);
}

TEST(CpuUsage, IsOfAllCpusTogether) {
  EXPECT_EQ(used(at(0, 0), at(1000, 500'000)), 50);
  EXPECT_EQ(used(at(0, 0), at(1000, 500'000), 2), 25);
  EXPECT_EQ(used(at(0, 7), at(1000, 7)), 0);
  EXPECT_EQ(used(at(0, 0), at(1000, 9'000'000)), 100) << "of a clock that is behind";
}

TEST(CpuUsage, IsNoneWhereNothingIsKnown) {
  EXPECT_EQ(cpu_used_percent(at(1000, 5), nullptr, 1), 0);
  EXPECT_EQ(used(at(0, std::nullopt), at(1000, 5)), 0);
  EXPECT_EQ(used(at(0, 5), at(1000, std::nullopt)), 0);
  EXPECT_EQ(used(at(1000, 0), at(1000, 5)), 0) << "no time has passed";
  EXPECT_EQ(used(at(1001, 0), at(1000, 5)), 0);
  EXPECT_EQ(used(at(0, 6), at(1000, 5)), 0) << "it is another sandbox by now";
}

}  // namespace
}  // namespace glovebox::e2b
