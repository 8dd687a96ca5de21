#include "bench/load.h"

#include <gtest/gtest.h>

namespace glovebox::bench {
namespace {

TEST(BenchLoad, SumsAMetricOverItsLabels) {
  const char* text =
      "# TYPE glovebox_pool_idle gauge\n"
      "glovebox_pool_idle{template=\"python\",engine=\"jail\"} 16\n"
      "glovebox_pool_idle{template=\"base\",engine=\"jail\"} 2\n"
      "glovebox_pool_idle_more 100\n"
      "glovebox_runs_active 3\n";
  EXPECT_EQ(metric_sum(text, "glovebox_pool_idle"), 18);
  EXPECT_EQ(metric_sum(text, "glovebox_runs_active"), 3);
  EXPECT_EQ(metric_sum(text, "glovebox_runs"), 0);
  EXPECT_EQ(metric_sum("", "glovebox_runs_active"), 0);
}

TEST(BenchLoad, EveryCallToAMissingServerIsAnError) {
  client::ServerLocation location;
  location.url = "http://127.0.0.1:1";
  const Round round = call_in_turn(location, {"{}", ""}, 3, std::chrono::milliseconds(0));
  EXPECT_EQ(round.errors, 3u);
  EXPECT_EQ(round.runs, 0u);
}

}  // namespace
}  // namespace glovebox::bench
