#include "bench/bench_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::bench {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::vector<std::string>& args) {
  const auto options = parse_bench_options(args);
  return options ? "was taken" : options.error().message();
}

TEST(BenchOptions, WithoutAWordThereAreThreeRounds) {
  const auto options = parse_bench_options({}).value();
  EXPECT_EQ(options.effort.rounds, 3u);
  EXPECT_FALSE(options.json || options.check || options.help);
  EXPECT_EQ(options.place.url, "");
}

TEST(BenchOptions, QuickIsLessOfEverything) {
  const std::vector<std::string> words = {"--quick", "--check", "--json"};
  const auto quick = parse_bench_options(words).value();
  const Effort usual;
  EXPECT_LT(quick.effort.rounds, usual.rounds);
  EXPECT_LT(quick.effort.paced, usual.paced);
  EXPECT_LT(quick.effort.load_ms, usual.load_ms);
  EXPECT_TRUE(quick.check && quick.json);
}

TEST(BenchOptions, RoundsComeOnTopOfQuick) {
  const std::vector<std::string> words = {"--rounds", "2", "--quick"};
  EXPECT_EQ(parse_bench_options(words).value().effort.rounds, 2u);
}

TEST(BenchOptions, OnlyIsOnly) {
  const auto all = parse_bench_options({}).value();
  EXPECT_TRUE(all.runs && all.sessions && all.dialects && all.network && all.dependencies);
  const std::vector<std::string> words = {"--only", "network"};
  const auto network = parse_bench_options(words).value();
  EXPECT_TRUE(network.network);
  EXPECT_FALSE(network.runs || network.sessions || network.dialects || network.dependencies);
  const std::vector<std::string> others = {"--only", "dependencies"};
  const auto dependencies = parse_bench_options(others).value();
  EXPECT_TRUE(dependencies.dependencies);
  EXPECT_FALSE(dependencies.runs || dependencies.sessions || dependencies.network);
}

TEST(BenchOptions, MistakesAreSaid) {
  EXPECT_THAT(refusal({"--rounds", "0"}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal({"--rounds", "many"}), HasSubstr("--rounds"));
  EXPECT_THAT(refusal({"--only", "mine"}), HasSubstr("dialects"));
  EXPECT_THAT(refusal({"--only", "network", "--url", "http://127.0.0.1:1"}),
              HasSubstr("starts itself"));
  EXPECT_THAT(refusal({"fast"}), HasSubstr("takes no words"));
  EXPECT_THAT(refusal({"--fast"}), HasSubstr("unknown option"));
}

}  // namespace
}  // namespace glovebox::bench
