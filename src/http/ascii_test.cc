#include "http/ascii.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace glovebox::http {
namespace {

TEST(Ascii, OnlyCapitalLettersAreLowered) {
  for (char c = 'A'; c <= 'Z'; ++c) EXPECT_EQ(lower(c), c + 32) << c;
  for (const char c : {'a', 'z', '@', '[', '`', '{', '0', ' ', '\x7f', '\xc1', '\xda'}) {
    EXPECT_EQ(lower(c), c);
  }
}

TEST(Ascii, HexDigitsHaveTheirValues) {
  const std::string_view small = "0123456789abcdef";
  const std::string_view large = "0123456789ABCDEF";
  for (int value = 0; value < 16; ++value) {
    EXPECT_EQ(hex_value(small[static_cast<std::size_t>(value)]), value);
    EXPECT_EQ(hex_value(large[static_cast<std::size_t>(value)]), value);
  }
  for (const char c : {'/', ':', '@', 'G', '`', 'g', ' ', '\0', '\xff'}) {
    EXPECT_EQ(hex_value(c), -1) << c;
  }
}

}  // namespace
}  // namespace glovebox::http
