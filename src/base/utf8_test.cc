#include "base/utf8.h"

#include <gtest/gtest.h>

#include "base/utf8_cut.h"

namespace glovebox {
namespace {

TEST(Utf8, RejectsEveryMalformedForm) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(is_utf8("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\xa7\xa4"));
  EXPECT_FALSE(is_utf8("\xff"));
  EXPECT_FALSE(is_utf8("\x80"));              // continuation byte without a lead
  EXPECT_FALSE(is_utf8("\xc0\x80"));          // overlong, two bytes
  EXPECT_FALSE(is_utf8("\xe0\x9f\xbf"));      // overlong, three bytes
  EXPECT_FALSE(is_utf8("\xf0\x8f\xbf\xbf"));  // overlong, four bytes
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));  // past U+10FFFF
  EXPECT_FALSE(is_utf8("\xe2\x82"));          // truncated
}

TEST(Utf8, MeasuresTheFirstCharacter) {
  EXPECT_EQ(utf8_character_size(""), 0u);
  EXPECT_EQ(utf8_character_size("ab"), 1u);
  EXPECT_EQ(utf8_character_size("\xc3\xbcx"), 2u);
  EXPECT_EQ(utf8_character_size("\xe2\x82\xacx"), 3u);
  EXPECT_EQ(utf8_character_size("\xf0\x9f\xa7\xa4x"), 4u);
  EXPECT_EQ(utf8_character_size("\xf0\x9f\xa7"), 0u);
}

TEST(Utf8, ReplacesEachInvalidByte) {
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

TEST(Utf8Cut, IsBetweenCharacters) {
  const std::string euro = "\xe2\x82\xac";
  EXPECT_EQ(utf8_cut("abc", 3), 3u);
  EXPECT_EQ(utf8_cut("abc", 2), 2u);
  EXPECT_EQ(utf8_cut(euro, 3), 3u);
  EXPECT_EQ(utf8_cut("a" + euro, 3), 1u);
  EXPECT_EQ(utf8_cut(euro, 2), 0u);
  EXPECT_EQ(utf8_cut(euro, 0), 0u);
  EXPECT_EQ(utf8_cut("\xf0\x9f\xa7\xa4x", 3), 0u);
  EXPECT_EQ(utf8_cut("\x80\x80\x80\x80\x80\x80", 5), 5u) << "not UTF-8";
  EXPECT_EQ(utf8_cut("\x80\x80\x80", 1), 1u) << "not UTF-8";
}

TEST(Utf8Cut, APartialCharacterInFrontIsSkipped) {
  EXPECT_EQ(skip_partial_character("\x82\xac"
                                   "a"),
            "a");
  EXPECT_EQ(skip_partial_character("a\x82"), "a\x82");
  EXPECT_EQ(skip_partial_character("\x80\x80\x80\x80"), "\x80") << "not UTF-8";
  EXPECT_EQ(skip_partial_character(""), "");
}

}  // namespace
}  // namespace glovebox
