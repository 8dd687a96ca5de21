#include "cli/print.h"

#include <gtest/gtest.h>

namespace glovebox::cli {
namespace {

TEST(Printable, LeavesTextAlone) { EXPECT_EQ(printable("naïve €"), "naïve €"); }

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc"), "a\\x1b[2Jb\\x0ac");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J")
                .find("\xc2\x9b"),
            std::string::npos);
}

}  // namespace
}  // namespace glovebox::cli
