#include "client/exec/repl_input.h"

#include <gtest/gtest.h>

#include <vector>

namespace glovebox::client {
namespace {

// After which line it is complete, from 1; 0: never.
std::size_t complete_after(const char* language, const std::vector<const char*>& typed) {
  ReplInput lines(language);
  for (std::size_t i = 0; i < typed.size(); ++i) {
    if (lines.add(typed[i])) return i + 1;
  }
  return 0;
}

TEST(ReplInput, TakesALineAtATime) {
  EXPECT_EQ(complete_after("python", {"x = 1"}), 1u);
  EXPECT_EQ(complete_after("bash", {"echo 'a'"}), 1u);
  EXPECT_EQ(complete_after("javascript", {"1 + 1"}), 1u);
  EXPECT_EQ(complete_after("python", {""}), 0u);
}

TEST(ReplInput, WaitsForWhatIsOpen) {
  EXPECT_EQ(complete_after("python", {"f(1,", "2)"}), 2u);
  EXPECT_EQ(complete_after("python", {"x = \"\"\"a", "b\"\"\""}), 2u);
  EXPECT_EQ(complete_after("python", {"x = '(' # ("}), 1u);
  EXPECT_EQ(complete_after("python", {"x = 1 + \\", "2"}), 2u);
  EXPECT_EQ(complete_after("bash", {"echo 'a", "b'"}), 2u);
  EXPECT_EQ(complete_after("javascript", {"function f() {", "}"}), 2u);
  EXPECT_EQ(complete_after("javascript", {"`a", "b`"}), 2u);
}

TEST(ReplInput, EndsABlockWithAnEmptyLine) {
  EXPECT_EQ(complete_after("python", {"for i in x:", "  print(i)", "  print(i)", ""}), 4u);
  EXPECT_EQ(complete_after("python", {"@cache", "def f():", "  pass", ""}), 4u);
}

TEST(ReplInput, GivesTheTextAndBeginsAnew) {
  ReplInput lines("python");
  EXPECT_TRUE(lines.add("x = 1"));
  EXPECT_EQ(lines.take(), "x = 1\n");
  EXPECT_TRUE(lines.empty());
}

}  // namespace
}  // namespace glovebox::client
