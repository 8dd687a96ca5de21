#include "supervisor/backoff.h"

#include <gtest/gtest.h>

namespace glovebox::supervisor {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DoublesUpToFiveSeconds) {
  Backoff backoff;
  const Clock::time_point now{};
  for (const auto expected : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms}) {
    backoff.started(now);
    EXPECT_EQ(backoff.ended(now), expected);
    EXPECT_EQ(backoff.due(), now + expected);
  }
}

TEST(Backoff, ForgetsAfterTenSecondsOfHealth) {
  Backoff backoff;
  const Clock::time_point now{};
  for (int i = 0; i < 5; ++i) {
    backoff.started(now);
    backoff.ended(now);
  }
  backoff.started(now);
  EXPECT_EQ(backoff.ended(now + 9999ms), 3200ms);
  backoff.started(now);
  EXPECT_EQ(backoff.ended(now + 10s), 100ms);
}

TEST(Backoff, TheFirstStartIsDueAtOnce) { EXPECT_LE(Backoff().due(), Clock::now()); }

}  // namespace
}  // namespace glovebox::supervisor
