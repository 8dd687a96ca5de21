// hex.h, base64.h, percent_encoding.h and constant_time.h.
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/constant_time.h"
#include "base/hex.h"
#include "base/percent_encoding.h"

namespace glovebox {
namespace {

std::string every_byte() {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  return all;
}

TEST(Hex, WritesTwoLowerCaseDigitsPerByte) {
  EXPECT_EQ(hex_encode(""), "");
  EXPECT_EQ(hex_encode(std::string_view("\x00\x7f\xff", 3)), "007fff");
  const unsigned char bytes[] = {0xde, 0xad};
  EXPECT_EQ(hex_encode(bytes), "dead");
  std::string text = "x";
  append_hex(text, 0x0a);
  EXPECT_EQ(text, "x0a");
}

TEST(Hex, ReadsDigitsOfBothCases) {
  EXPECT_EQ(hex_digit_value('0'), 0);
  EXPECT_EQ(hex_digit_value('9'), 9);
  EXPECT_EQ(hex_digit_value('a'), 10);
  EXPECT_EQ(hex_digit_value('F'), 15);
  for (const char c : {'g', 'G', '/', ':', '@', '`', ' ', '\0'}) EXPECT_EQ(hex_digit_value(c), -1);
  EXPECT_TRUE(is_lower_hex("0123456789abcdef"));
  EXPECT_FALSE(is_lower_hex("aB"));
  EXPECT_FALSE(is_lower_hex("0x"));
}

TEST(Base64, MatchesTheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text).value(), bytes);
  }
  EXPECT_EQ(base64_encode(std::string_view("\x00\xff\x00", 3)), "AP8A");
}

TEST(Base64, RoundTripsEveryByteInBothAlphabets) {
  const std::string all = every_byte();
  for (std::size_t size = 250; size <= all.size(); ++size) {
    const std::string bytes = all.substr(0, size);
    EXPECT_EQ(base64_decode(base64_encode(bytes)).value(), bytes);
    EXPECT_EQ(base64url_decode(base64url_encode(bytes)).value(), bytes);
  }
  EXPECT_EQ(base64url_encode("\xfb\xff"), "-_8");
}

TEST(Base64, TakesOneSpellingOnly) {
  for (const char* bad : {"Zg", "Zg=", "Zg===", "Zg==\n", "Zh==", "Zm9=", "Z===", "====", "Zm-v",
                          "Z m9", "Zg==Zg=="}) {
    EXPECT_FALSE(base64_decode(bad)) << bad;
  }
  for (const char* bad : {"Zg==", "Zh", "Z", "Zm9vY", "Zm+v", "Zm 9"}) {
    EXPECT_FALSE(base64url_decode(bad)) << bad;
  }
}

TEST(PercentEncoding, RoundTripsEveryByte) {
  const std::string all = every_byte();
  EXPECT_EQ(percent_decode(percent_encode(all)).value(), all);
  EXPECT_EQ(percent_decode_lenient(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("aZ09-._~ /+%"), "aZ09-._~%20%2F%2B%25");
}

TEST(PercentEncoding, KnowsBothMeaningsOfPlus) {
  EXPECT_EQ(percent_decode("a+b").value(), "a+b");
  EXPECT_EQ(percent_decode("a+b%2B", PlusSign::kSpace).value(), "a b+");
}

TEST(PercentEncoding, RefusesMalformedEscapesUnlessLenient) {
  for (const char* bad : {"%", "%4", "a%4", "%4g", "%g4", "%%41"}) {
    EXPECT_FALSE(percent_decode(bad)) << bad;
  }
  EXPECT_EQ(percent_decode_lenient("%%41%4g%4"), "%A%4g%4");
}

TEST(ConstantTime, ComparesWholeContents) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  EXPECT_FALSE(equal_in_constant_time("secret", "Secret"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secreT"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secre"));
  EXPECT_FALSE(equal_in_constant_time("", "a"));
  EXPECT_FALSE(equal_in_constant_time(std::string_view("a\0b", 3), std::string_view("a\0c", 3)));
}

}  // namespace
}  // namespace glovebox
