#include "wire/utf8.h"

#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

TEST(Utf8, KnowsTextFromBytes) {
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(is_utf8("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\xa7\xa4"));
  EXPECT_FALSE(is_utf8("\xff"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));          // overlong
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));  // past the end of Unicode
  EXPECT_FALSE(is_utf8("\xe2\x82"));          // cut short
}

TEST(Utf8, ReplacesEachBrokenByte) {
  EXPECT_EQ(to_utf8("a\xff\xfe"
                    "b"),
            "a\xef\xbf\xbd\xef\xbf\xbd"
            "b");
  EXPECT_TRUE(is_utf8(to_utf8("\xe2\x82 \xed\xa0\x80")));
}

TEST(Base64, MatchesTheKnownVectors) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string_view("\x00\xff\x00", 3)), "AP8A");
}

}  // namespace
}  // namespace glovebox::wire
