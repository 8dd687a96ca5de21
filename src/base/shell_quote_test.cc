#include "base/shell_quote.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(ShellQuote, QuotesOnlyWhatAShellWouldChange) {
  EXPECT_EQ(shell_quoted("data/a-1.csv"), "data/a-1.csv");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("$HOME;`x`"), "'$HOME;`x`'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace glovebox
