#include "base/units.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

using std::chrono::milliseconds;

TEST(ParseDuration, TakesTheUnitsPeopleType) {
  EXPECT_EQ(parse_duration("10s").value(), milliseconds(10'000));
  EXPECT_EQ(parse_duration("500ms").value(), milliseconds(500));
  EXPECT_EQ(parse_duration("2m").value(), milliseconds(120'000));
  EXPECT_EQ(parse_duration("1.5").value(), milliseconds(1500));
  EXPECT_EQ(parse_duration("1h").value(), milliseconds(3'600'000));
}

TEST(ParseDuration, RefusesTheRestInOneLine) {
  for (const char* bad : {"", "s", "-1s", "1 s", "1e3", "0x10", "inf", "nan", "1..2", ".5", "5.",
                          "10q", "0", "99999999h", "1s2"}) {
    const auto parsed = parse_duration(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().message().find('\n'), std::string::npos);
  }
}

TEST(ParseSize, TakesTheUnitsPeopleType) {
  EXPECT_EQ(parse_size("256M").value(), 256ull << 20);
  EXPECT_EQ(parse_size("256MiB").value(), 256ull << 20);
  EXPECT_EQ(parse_size("1.5g").value(), 3ull << 29);
  EXPECT_EQ(parse_size("64k").value(), 65536u);
  EXPECT_EQ(parse_size("4096").value(), 4096u);
}

TEST(ParseSize, RefusesTheRest) {
  for (const char* bad : {"", "M", "-1", "1 M", "12Q", "1MM", "9999999T", "1e9", "0x100"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
  EXPECT_FALSE(parse_size(std::string_view("1\0M", 3)));
}

}  // namespace
}  // namespace glovebox
