#include "api/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

namespace glovebox::api {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;

TEST(Histogram, BucketsCountUpwards) {
  runs::Metrics metrics;
  const auto add = [&metrics](std::chrono::microseconds time) {
    metrics.count_phase(runs::Phase::kRun, time);
  };
  add(microseconds(100));
  add(microseconds(1000));
  add(std::chrono::hours(1));
  const std::string text = metrics_text(metrics, {});
  EXPECT_THAT(text, HasSubstr("glovebox_run_seconds_bucket{phase=\"run\",le=\"0.00025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_run_seconds_bucket{phase=\"run\",le=\"0.001\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_run_seconds_bucket{phase=\"run\",le=\"30\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_run_seconds_bucket{phase=\"run\",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_run_seconds_count{phase=\"run\"} 3\n"));
}

std::string some_figures() {
  runs::Metrics metrics;
  metrics.count_run(store::RunStatus::kOk, true);
  metrics.count_run(store::RunStatus::kTimedOut, false);
  metrics.count_phase(runs::Phase::kTotal, microseconds(1500));
  metrics.count_refusal("host_full", "default");
  metrics.count_answer(200);
  metrics.count_answer(404);
  ServerFigures figures;
  node::NodeFigures& node = figures.node;
  node::PoolFigures pool;
  pool.template_name = "python";
  pool.idle = 3;
  pool.hits = 7;
  pool.misses = 1;
  node.pools.push_back(pool);
  node.launcher_up = true;
  node.host = {.memory_bytes = 5,
               .memory_limit_bytes = 6,
               .socket_bytes = 2,
               .pids = 8,
               .pids_limit = 9,
               .full_reason = "full"};
  sessions::SessionFigures& sessions = figures.sessions;
  sessions.paused = 2;
  sessions.ended[static_cast<std::size_t>(sessions::EndCause::kLauncherLost)] = 3;
  return metrics_text(metrics, figures);
}

TEST(Metrics, CountsRunsAndAnswers) {
  const std::string text = some_figures();
  EXPECT_THAT(text, HasSubstr("glovebox_runs_total{outcome=\"ok\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_runs_total{outcome=\"timed_out\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_runs_started_total{start=\"warm\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_pool_idle{template=\"python\",engine=\"jail\"} 3\n"));
  EXPECT_THAT(text,
              HasSubstr("glovebox_pool_misses_total{template=\"python\",engine=\"jail\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_refusals_total{code=\"host_full\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_http_answers_total{class=\"4xx\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_launcher_up 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_host_memory_bytes 5\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_host_memory_limit_bytes 6\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_host_socket_bytes 2\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_host_processes 8\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_host_processes_limit 9\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_host_full 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_sessions{state=\"paused\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_sessions_ended_total{cause=\"launcher_lost\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_run_seconds_count{phase=\"total\"} 1\n"));
}

TEST(Metrics, EveryLineIsOfTheTextFormat) {
  const std::regex good(
      R"((# (HELP|TYPE) [a-z_]+ .+)|([a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+))");
  std::istringstream lines(some_figures());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(std::regex_match(line, good)) << line;
  }
  EXPECT_GT(count, 80);
}

}  // namespace
}  // namespace glovebox::api
