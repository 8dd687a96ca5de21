#include "client/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Taken {
  Result<std::vector<std::string>> rest;
  bool json = false;
  std::string name;
};

Taken take(const std::vector<std::string>& words) {
  Taken taken{.rest = fail(Errc::kInternal, ""), .json = false, .name = {}};
  const Option options[] = {{"--json", &taken.json}, {"--name", &taken.name}};
  taken.rest = take_options(words, options, "key create");
  return taken;
}

std::string refusal(const std::vector<std::string>& words) {
  const Taken taken = take(words);
  return taken.rest ? "was taken" : taken.rest.error().message();
}

TEST(Words, OptionsMayStandAnywhereAndTakeTheirValueEitherWay) {
  const Taken taken = take({"a", "--name", "ci", "--json", "b"});
  EXPECT_THAT(taken.rest.value(), ElementsAre("a", "b"));
  EXPECT_TRUE(taken.json);
  EXPECT_EQ(taken.name, "ci");
  EXPECT_EQ(take({"--name=x=y"}).name, "x=y");
  EXPECT_EQ(take({"--name", "-"}).name, "-");
}

TEST(Words, EveryMistakeIsOneClearLine) {
  EXPECT_EQ(refusal({"--nmae", "x"}), "unknown option '--nmae'; see `glovebox key create --help`");
  EXPECT_EQ(refusal({"--name"}), "--name needs a value");
  EXPECT_EQ(refusal({"--name="}), "--name needs a value");
  EXPECT_EQ(refusal({"--json=yes"}), "--json takes no value");
}

TEST(Words, CountsAreWholeNumbersInTheirRange) {
  EXPECT_EQ(parse_count("0", "--runs", 10).value(), 0u);
  EXPECT_EQ(parse_count("10", "--runs", 10).value(), 10u);
  for (const char* text : {"", "-1", "11", "1.5", "1 ", "99999999999999999999"}) {
    EXPECT_THAT(parse_count(text, "--runs", 10).error().message(), HasSubstr("from 0 to 10"))
        << text;
  }
}

}  // namespace
}  // namespace glovebox::client
