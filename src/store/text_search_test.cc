#include "store/text_search.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace glovebox::store {
namespace {

TEST(TextSearch, AsciiLettersHaveNoCase) {
  EXPECT_TRUE(has_text("Hello World", search_form("WORLD")));
  EXPECT_TRUE(has_text("abc", ""));
  EXPECT_TRUE(has_text("", ""));
  EXPECT_FALSE(has_text("abc", "abcd"));
  EXPECT_FALSE(has_text("", "a"));
}

TEST(TextSearch, AnyBytesCanBeSearched) {
  const std::string text("a\0b%_\xff", 6);
  EXPECT_TRUE(has_text(text, std::string_view("\0b%", 3)));
  EXPECT_TRUE(has_text(text, "%_"));
  EXPECT_TRUE(has_text(text, "\xff"));
  EXPECT_FALSE(has_text(text, "b_"));
}

}  // namespace
}  // namespace glovebox::store
