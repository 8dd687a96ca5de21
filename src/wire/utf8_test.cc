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

TEST(Printable, IsAlwaysUtf8AndHasNoControls) {
  for (unsigned lead = 0; lead < 256; ++lead) {
    for (unsigned next = 0; next < 256; ++next) {
      const std::string bytes{'a', static_cast<char>(lead), static_cast<char>(next), 'b'};
      const std::string shown = printable(bytes);
      ASSERT_TRUE(is_utf8(shown)) << lead << " " << next;
      ASSERT_EQ(shown.find('\n'), std::string::npos);
    }
  }
  EXPECT_EQ(printable("\xc2\x85 \xc2\xa3"), "\\xc2\\x85 \xc2\xa3");
}

TEST(Printable, IsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "\xe2\x82\xac";
  EXPECT_TRUE(is_utf8(printable(text)));
  EXPECT_LE(printable(text).size(), 4000u);
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
