#include "gateway/token_bucket.h"

#include <gtest/gtest.h>

namespace glovebox::gateway {
namespace {

using namespace std::chrono_literals;
const TokenBucket::Time kStart{100h};

int taken(TokenBucket& bucket, TokenBucket::Time now, int wanted) {
  int got = 0;
  for (int i = 0; i < wanted; ++i) got += bucket.take(now) ? 1 : 0;
  return got;
}

TEST(TokenBucket, GivesABurstAndThenItsRate) {
  TokenBucket bucket(50, 200);
  EXPECT_EQ(taken(bucket, kStart, 1000), 200);
  EXPECT_EQ(taken(bucket, kStart + 19ms, 10), 0);
  EXPECT_EQ(taken(bucket, kStart + 20ms, 10), 1);
  EXPECT_EQ(taken(bucket, kStart + 1020ms, 1000), 50);
}

TEST(TokenBucket, FillsUpToItsBurstAndNoFurther) {
  TokenBucket bucket(50, 200);
  EXPECT_EQ(taken(bucket, kStart, 200), 200);
  EXPECT_EQ(taken(bucket, kStart + 1h, 1000), 200);
}

TEST(TokenBucket, ReportsHowLongToWait) {
  TokenBucket bucket(10, 1);
  EXPECT_EQ(bucket.wait(kStart), 0ns);
  EXPECT_TRUE(bucket.take(kStart));
  EXPECT_EQ(bucket.wait(kStart), 100ms);
  EXPECT_EQ(bucket.wait(kStart + 60ms), 40ms);
  EXPECT_EQ(bucket.wait(kStart + 100ms), 0ns);
}

TEST(TokenBucket, IsFullAtFirstHoweverYoungTheClockIs) {
  const TokenBucket::Time start{};  // of the machine
  TokenBucket bucket(50, 200);
  EXPECT_EQ(bucket.wait(start), 0ns);
  EXPECT_EQ(taken(bucket, start, 1000), 200);
}

TEST(TokenBucket, OfNothingIsOfOne) {
  TokenBucket bucket(0, 0);
  EXPECT_EQ(taken(bucket, kStart, 5), 1);
  EXPECT_EQ(taken(bucket, kStart + 1s, 5), 1);
}

}  // namespace
}  // namespace glovebox::gateway
