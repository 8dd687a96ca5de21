// The untrusted output of a build becomes a limited number of printable lines.
#include "packages/builds/build_output.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace glovebox::packages {
namespace {

using From = BuildOutput::From;

class BuildOutputTest : public testing::Test {
 protected:
  BuildOutput lines(std::vector<std::string> secrets = {}) {
    return BuildOutput([this](std::string line) { said.push_back(std::move(line)); },
                       std::move(secrets), [this] { return now; });
  }
  BuildOutput::Clock::time_point now{};
  std::vector<std::string> said;
};

TEST_F(BuildOutputTest, SplitsLinesAcrossChunks) {
  BuildOutput all = lines();
  all.add(From::kOut, "one\ntw");
  all.add(From::kErr, "trouble\n");
  all.add(From::kOut, "o\r\n\nthree");
  all.finish();
  EXPECT_EQ(said, (std::vector<std::string>{"one", "trouble", "two", "three"}));
  EXPECT_EQ(all.tail(), "one\ntrouble\ntwo\nthree");
}

TEST_F(BuildOutputTest, EscapesTerminalSequences) {
  BuildOutput all = lines();
  all.add(From::kOut,
          "\x1b[2J\x1b]52;c;cm0gLXJm\x07 ok\t\xc2\x9b"
          "31m \xff\xfe\n");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "\\x1b[2J\\x1b]52;c;cm0gLXJm\\x07 ok \\xc2\\x9b31m \\xff\\xfe");
}

TEST_F(BuildOutputTest, EscapesDirectionMarks) {
  BuildOutput all = lines();
  all.add(From::kOut, "ok \xe2\x80\xae live \xe2\x81\xa6 \xe2\x80\x8f \xe2\x80\xa6 \xe2\x82\xac\n");
  EXPECT_EQ(said,
            std::vector<std::string>{"ok \\u202e live \\u2066 \\u200f \xe2\x80\xa6 \xe2\x82\xac"});
}

TEST_F(BuildOutputTest, CutsALongLineBetweenCharacters) {
  BuildOutput all = lines();
  std::string euros;
  for (int i = 0; i < 1'000'000; ++i) euros += "\xe2\x82\xac";
  all.add(From::kOut, euros);
  all.add(From::kOut, euros + "\nnext\n");
  ASSERT_EQ(said.size(), 2u);
  EXPECT_LE(said[0].size(), BuildOutput::kMostLine);
  EXPECT_GT(said[0].size(), BuildOutput::kMostLine - 10);
  EXPECT_TRUE(is_utf8(said[0]));
  EXPECT_TRUE(said[0].ends_with("\xe2\x82\xac..."));
  EXPECT_EQ(said[1], "next");
}

TEST_F(BuildOutputTest, CountsDroppedLines) {
  BuildOutput all = lines();
  for (int i = 0; i < 100'000; ++i) all.add(From::kOut, "spam\n");
  EXPECT_EQ(said.size(), BuildOutput::kAtOnce);
  now += std::chrono::seconds(1);
  all.add(From::kOut, "again\n");
  ASSERT_EQ(said.size(), BuildOutput::kAtOnce + 2);
  EXPECT_EQ(said[BuildOutput::kAtOnce], "(99800 lines left out)");
  EXPECT_EQ(said.back(), "again");
}

TEST_F(BuildOutputTest, LimitsTheNumberOfLines) {
  BuildOutput all = lines();
  for (int i = 0; i < 20'000; ++i) {
    now += std::chrono::seconds(1);
    all.add(From::kOut, "slow\n");
  }
  all.finish();
  EXPECT_EQ(said.size(), BuildOutput::kMostLines + 1);
  EXPECT_EQ(said.back(), "(15000 lines left out)");
}

TEST_F(BuildOutputTest, HidesSecrets) {
  BuildOutput all = lines({"hush!hush", "token1"});
  all.add(From::kOut, "https://bob:hush!hush@host/ token1token1\n");
  EXPECT_EQ(said, std::vector<std::string>{"https://bob:****@host/ ********"});
}

TEST(PrintableText, KeepsLinesAndHidesSecretsAcrossThem) {
  EXPECT_EQ(printable_text("\n\nERROR: a\n  b \x1b[0m\n\n", 100, {}), "ERROR: a\n  b \\x1b[0m");
  EXPECT_EQ(printable_text("se\ncret", 100, {"se\ncret"}), "****");
  EXPECT_EQ(printable_text(std::string(1000, 'x'), 10, {}), "xxxxxxx...");
  EXPECT_EQ(printable_text("", 10, {}), "");
}

}  // namespace
}  // namespace glovebox::packages
