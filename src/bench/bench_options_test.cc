#include "bench/bench_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::bench {
namespace {

using ::testing::HasSubstr;

Result<BenchOptions> parse(const std::vector<std::string>& args) {
  BenchOptions bench;
  TRY_OK(options::parse(bench_command_line(bench), args));
  TRY_OK(check_bench_options(bench));
  return bench;
}

std::string mistake(const std::vector<std::string>& args) {
  const auto bench = parse(args);
  return bench ? "was accepted" : bench.error().message();
}

TEST(BenchOptions, ThereAreThreeRoundsByDefault) {
  const auto bench = parse({}).value();
  EXPECT_EQ(bench.effort.rounds, 3u);
  EXPECT_FALSE(bench.json || bench.check);
  EXPECT_EQ(bench.server.url, "");
}

TEST(BenchOptions, QuickIsLessOfEverything) {
  const auto quick = parse({"--quick", "--check", "--json"}).value();
  const Effort usual;
  EXPECT_LT(quick.effort.rounds, usual.rounds);
  EXPECT_LT(quick.effort.paced, usual.paced);
  EXPECT_LT(quick.effort.load_ms, usual.load_ms);
  EXPECT_TRUE(quick.check && quick.json);
}

TEST(BenchOptions, RoundsOverrideQuick) {
  EXPECT_EQ(parse({"--rounds", "2", "--quick"}).value().effort.rounds, 2u);
}

TEST(BenchOptions, OnlySelectsOneGroup) {
  const auto all = parse({}).value();
  EXPECT_TRUE(all.measures_runs && all.measures_sessions && all.measures_dialects &&
              all.measures_network && all.measures_dependencies);
  const auto network = parse({"--only", "network"}).value();
  EXPECT_TRUE(network.measures_network);
  EXPECT_FALSE(network.measures_runs || network.measures_sessions || network.measures_dialects ||
               network.measures_dependencies);
  const auto dependencies = parse({"--only", "dependencies"}).value();
  EXPECT_TRUE(dependencies.measures_dependencies);
  EXPECT_FALSE(dependencies.measures_runs || dependencies.measures_sessions ||
               dependencies.measures_network);
}

TEST(BenchOptions, MistakesAreReported) {
  EXPECT_THAT(mistake({"--rounds", "0"}), HasSubstr("at least 1"));
  EXPECT_THAT(mistake({"--rounds", "many"}), HasSubstr("--rounds"));
  EXPECT_THAT(mistake({"--only", "mine"}), HasSubstr("dialects"));
  EXPECT_THAT(mistake({"--only", "network", "--url", "http://127.0.0.1:1"}),
              HasSubstr("starts its own server"));
  EXPECT_THAT(mistake({"fast"}), HasSubstr("unexpected argument 'fast'"));
  EXPECT_THAT(mistake({"--fast"}), HasSubstr("unknown option"));
}

TEST(BenchOptions, AProfileHasItsOwnServerAndNoRows) {
  const auto bench = parse({"--profile", "--quick", "--json"}).value();
  EXPECT_TRUE(bench.profile && bench.json);
  EXPECT_THAT(mistake({"--profile", "--only", "runs"}), HasSubstr("--profile cannot be used with"));
  EXPECT_THAT(mistake({"--profile", "--check"}), HasSubstr("--profile cannot be used with"));
  EXPECT_THAT(mistake({"--profile", "--rounds", "2"}), HasSubstr("--profile cannot be used with"));
  EXPECT_THAT(mistake({"--profile", "--url", "http://127.0.0.1:1"}), HasSubstr("own server"));
}

}  // namespace
}  // namespace glovebox::bench
