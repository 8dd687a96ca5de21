#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>

namespace glovebox::wire {
namespace {

namespace json = boost::json;

TEST(JsonNumbers, AreWrittenAsPeopleWriteThem) {
  EXPECT_EQ(json::serialize(json::value(300.0)), "300.0");
  EXPECT_EQ(json::serialize(json::value(0.5)), "0.5");
  EXPECT_EQ(json::serialize(json::value(-2.25)), "-2.25");
  EXPECT_EQ(json::serialize(json::value(0.0)), "0.0");
  EXPECT_EQ(json::serialize(json::value(0.1)), "0.1");
  EXPECT_EQ(json::serialize(json::value(1e-6)), "0.000001");
  EXPECT_EQ(json::serialize(json::value(1234567.875)), "1234567.875");
  EXPECT_EQ(json::serialize(json::value(-1e20)), "-100000000000000000000.0");
}

TEST(JsonNumbers, VeryLargeAndVerySmallOnesHaveAnExponent) {
  EXPECT_EQ(json::serialize(json::value(1e21)), "1e+21");
  EXPECT_EQ(json::serialize(json::value(-1.5e300)), "-1.5e+300");
  EXPECT_EQ(json::serialize(json::value(2.5e-7)), "2.5e-07");
}

TEST(JsonNumbers, IntegersKeepAllTheirDigits) {
  EXPECT_EQ(json::serialize(json::value(std::numeric_limits<std::int64_t>::min())),
            "-9223372036854775808");
  EXPECT_EQ(json::serialize(json::value(std::numeric_limits<std::uint64_t>::max())),
            "18446744073709551615");
  EXPECT_EQ(json::serialize(json::value(0)), "0");
}

TEST(JsonNumbers, WhatIsNoNumberIsNull) {
  EXPECT_EQ(json::serialize(json::value(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(json::serialize(json::value(std::nan(""))), "null");
}

TEST(JsonNumbers, EveryDoubleIsReadBackAsItself) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&value, &bits, sizeof value);
    // Numbers of every size, and more of those that are written without an exponent.
    if (i % 2 == 0) value = std::ldexp(static_cast<double>(bits), static_cast<int>(bits % 80) - 80);
    if (!std::isfinite(value)) continue;
    const std::string text = json::serialize(json::value(value));
    EXPECT_LE(text.size(), 27u) << text;
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
  }
}

}  // namespace
}  // namespace glovebox::wire
