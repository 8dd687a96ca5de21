#include "runs/activity.h"

#include <gtest/gtest.h>

namespace glovebox::runs {
namespace {

using std::chrono::milliseconds;

constexpr auto kNothing = [](const std::string&) { return Gauges{}; };

TEST(Activity, AProjectSeesItsOwnRunsAndTheWholeSeesAll) {
  Activity activity;
  activity.count_run("one", milliseconds(1));
  activity.count_run("one", milliseconds(1));
  activity.count_run("two", milliseconds(100));
  activity.count_refusal("two");
  activity.end_interval(10'000, kNothing);
  EXPECT_EQ(activity.samples_of("one")->back().runs, 2u);
  EXPECT_EQ(activity.samples_of("one")->back().refusals, 0u);
  EXPECT_EQ(activity.samples_of("two")->back().refusals, 1u);
  EXPECT_EQ(activity.samples_of("*")->back().runs, 3u);
  EXPECT_EQ(activity.rates_of("one").runs_per_minute, 2);
  EXPECT_LT(activity.rates_of("one").p99.value(), milliseconds(2));
  EXPECT_GT(activity.rates_of("*").p99.value(), milliseconds(90));
}

TEST(Activity, IntervalsBeginAtZero) {
  Activity activity;
  activity.count_run("one", milliseconds(1));
  activity.end_interval(10'000, kNothing);
  activity.end_interval(20'000, kNothing);
  const auto& samples = *activity.samples_of("one");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[1].runs, 0u);
  EXPECT_FALSE(samples[1].p50);
  EXPECT_EQ(activity.ended(), 2u);
}

TEST(Activity, AnHourIsKept) {
  Activity activity;
  activity.count_run("one", milliseconds(1));
  for (std::size_t i = 0; i < Activity::kSamples + 5; ++i) {
    activity.count_run("one", milliseconds(1));
    activity.end_interval(static_cast<std::int64_t>(i), kNothing);
  }
  EXPECT_EQ(activity.samples_of("one")->size(), Activity::kSamples);
  EXPECT_EQ(activity.samples_of("one")->front().at_ms, 5);
}

TEST(Activity, PercentilesForgetWhatWasMinutesAgo) {
  Activity activity;
  activity.count_run("one", std::chrono::seconds(5));
  for (int i = 0; i < 31; ++i) {
    activity.end_interval(i, kNothing);
    activity.count_run("one", milliseconds(1));
  }
  EXPECT_LT(activity.rates_of("one").p99.value(), milliseconds(2));
}

TEST(Activity, AProjectWithoutAnythingIsForgotten) {
  Activity activity;
  activity.note_project("idle");
  activity.end_interval(1, kNothing);
  EXPECT_EQ(activity.samples_of("idle"), nullptr);
  activity.note_project("busy");
  activity.end_interval(2, [](const std::string&) { return Gauges{.sandboxes = 1}; });
  ASSERT_NE(activity.samples_of("busy"), nullptr);
  EXPECT_EQ(activity.samples_of("busy")->back().sandboxes, 1u);
}

TEST(Activity, ManyProjectsAreCountedTogetherBeyondTheBound) {
  Activity activity;
  for (std::size_t i = 0; i < 2 * Activity::kProjects; ++i) {
    activity.count_run("p" + std::to_string(i), milliseconds(1));
  }
  EXPECT_EQ(activity.projects(), Activity::kProjects);
  activity.end_interval(1, kNothing);
  EXPECT_EQ(activity.samples_of("*")->back().runs, 2 * Activity::kProjects);
}

}  // namespace
}  // namespace glovebox::runs
