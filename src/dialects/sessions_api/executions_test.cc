#include "dialects/sessions_api/executions.h"

#include <gtest/gtest.h>

namespace glovebox::sessions_api {
namespace {

using std::chrono::milliseconds;
using Clock = Executions::Clock;

TEST(Executions, AreFoundInTheirOwnProjectAndSession) {
  Executions all;
  const auto one = all.begin("p", "s", 1);
  ASSERT_NE(one, nullptr);
  const std::string id = one->id.str();
  EXPECT_EQ(all.find("p", "s", id), one);
  EXPECT_EQ(all.find("*", "s", id), one);
  EXPECT_EQ(all.find("q", "s", id), nullptr);
  EXPECT_EQ(all.find("p", "t", id), nullptr);
  EXPECT_EQ(all.find("p", "s", "x"), nullptr);
  EXPECT_EQ(all.last_of("p", "s"), one);
  EXPECT_EQ(all.last_of("q", "s"), nullptr);
  const auto two = all.begin("p", "s", 2);
  EXPECT_EQ(all.last_of("p", "s"), two);
  EXPECT_EQ(all.running_of("p", "s"), 2u);
  all.end(one, "completed", "{}", Clock::now());
  EXPECT_EQ(all.running_of("p", "s"), 1u);
  EXPECT_EQ(all.find("p", "s", id)->answer, "{}");
}

TEST(Executions, ASessionsRunningOnesAreLimited) {
  Executions all({.running_per_session = 2});
  const auto one = all.begin("p", "s", 1);
  EXPECT_NE(all.begin("p", "s", 1), nullptr);
  EXPECT_EQ(all.begin("p", "s", 1), nullptr);
  EXPECT_NE(all.begin("p", "t", 1), nullptr);
  all.end(one, "failed", "", Clock::now());
  EXPECT_NE(all.begin("p", "s", 1), nullptr);
}

TEST(Executions, OldOnesAreForgottenAndRunningOnesStay) {
  Executions all({.ended_per_project = 2});
  const auto running = all.begin("p", "s", 1);
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    const auto one = all.begin("p", "s", 1);
    ids.push_back(one->id.str());
    all.end(one, "completed", "{}", Clock::now());
  }
  const auto other = all.begin("q", "t", 1);
  all.end(other, "completed", "{}", Clock::now());
  EXPECT_EQ(all.find("p", "s", ids[0]), nullptr);
  EXPECT_EQ(all.find("p", "s", ids[1]), nullptr);
  EXPECT_NE(all.find("p", "s", ids[2]), nullptr);
  EXPECT_NE(all.find("p", "s", ids[3]), nullptr);
  EXPECT_NE(all.find("p", "s", running->id.str()), nullptr);
  EXPECT_EQ(all.size(), 4u);
}

TEST(Executions, BytesAndAgeAreLimited) {
  Executions all({.ended_bytes = 100, .age = milliseconds(1000)});
  const Clock::time_point now = Clock::now();
  const auto one = all.begin("p", "s", 1);
  all.end(one, "completed", std::string(60, 'x'), now);
  const auto two = all.begin("q", "t", 1);
  all.end(two, "completed", std::string(60, 'x'), now);
  EXPECT_EQ(all.last_of("p", "s"), nullptr);  // the older one
  EXPECT_EQ(all.last_of("q", "t"), two);
  const auto three = all.begin("r", "u", 1);
  all.end(three, "completed", "", now + milliseconds(1001));
  EXPECT_EQ(all.last_of("q", "t"), nullptr);
  EXPECT_EQ(all.size(), 1u);
}

}  // namespace
}  // namespace glovebox::sessions_api
