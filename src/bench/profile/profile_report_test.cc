#include "bench/profile/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

std::optional<double>& cell(LoadProfile& load, Role role, Event event) {
  return load.counts[static_cast<std::size_t>(role)][static_cast<std::size_t>(event)];
}

RunProfile example() {
  LoadProfile load;
  load.name = "16 clients";
  load.runs = 100;
  load.seconds = 0.5;
  load.found_waiting = 0.25;
  cell(load, Role::kServer, Event::kCpuTime) = 0.5;
  cell(load, Role::kInterpreter, Event::kCpuTime) = 1.25;
  cell(load, Role::kServer, Event::kSystemCalls) = 90;
  cell(load, Role::kLauncher, Event::kSystemCalls) = 250.5;
  load.kernel_threads = {{"kworker", milliseconds(25)}, {"idle", milliseconds(0)}};
  RunProfile profile;
  profile.loads.push_back(load);
  profile.floor = {
      {"namespaces", 1.0, ""}, {"interpreter", 0.5, ""}, {"other", 0, "no such thing"}};
  profile.not_counted = {"page faults: perf_event_open: Operation\nnot permitted"};
  return profile;
}

TEST(ProfileReport, TheTableHasSumsAndDashesForWhatWasNotCounted) {
  const std::string text = profile_text(example());
  EXPECT_THAT(text, HasSubstr("16 clients (100 runs, 0 errors, 200 per second, 25% found"));
  EXPECT_THAT(text, ::testing::ContainsRegex("server +0\\.50 +90\\.0 +- +- +- +-"));
  EXPECT_THAT(text, ::testing::ContainsRegex("launcher +- +250\\.5 +-"));
  EXPECT_THAT(text, ::testing::ContainsRegex("kernel threads +0\\.25"));
  EXPECT_THAT(text, ::testing::ContainsRegex("  kworker +0\\.25"));
  EXPECT_THAT(text, Not(HasSubstr("idle")));
  EXPECT_THAT(text, ::testing::ContainsRegex("total +2\\.00 +340\\.5 +-"));
  EXPECT_THAT(text, ::testing::ContainsRegex("total +1\\.50"));
  EXPECT_THAT(text, HasSubstr("not counted: page faults"));
  EXPECT_THAT(text, Not(HasSubstr("Operation\nnot"))) << "one line each";
}

TEST(ProfileReport, JsonHasNullForWhatWasNotCounted) {
  const auto all = boost::json::parse(profile_json(example())).as_object();
  const auto& load = all.at("loads").at(0);
  EXPECT_EQ(load.at("total").at("cpu_ms").as_double(), 2.0);
  EXPECT_TRUE(load.at("total").at("page_faults").is_null());
  EXPECT_EQ(load.at("processes").at(0).at("name").as_string(), "server");
  EXPECT_TRUE(load.at("processes").at(1).at("cpu_ms").is_null());
  EXPECT_EQ(load.at("kernel_threads_cpu_ms").as_double(), 0.25);
  EXPECT_TRUE(all.at("floor").at(2).at("cpu_ms").is_null());
  EXPECT_EQ(all.at("floor_cpu_ms").as_double(), 1.5);
  EXPECT_EQ(all.at("not_counted").as_array().size(), 1u);
}

}  // namespace
}  // namespace glovebox::bench
