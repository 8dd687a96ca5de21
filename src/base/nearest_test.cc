#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace glovebox {
namespace {

TEST(Nearest, FindsAMisspeltNameAndNothingElse) {
  const std::vector<std::string> names = {"--timeout", "--template", "--json"};
  EXPECT_EQ(nearest("--timeuot", names), "--timeout");
  EXPECT_EQ(nearest("--templat", names), "--template");
  EXPECT_EQ(nearest("--jsno", names), "--json");
  EXPECT_EQ(nearest("--memory", names), "");
  EXPECT_EQ(nearest(std::string(1000, 'x'), names), "");
}

}  // namespace
}  // namespace glovebox
