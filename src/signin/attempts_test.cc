#include "signin/attempts.h"

#include <gtest/gtest.h>

namespace glovebox::signin {
namespace {

using std::chrono::seconds;

const Attempts::TimePoint kStart = Attempts::TimePoint(std::chrono::hours(1000));

void fail_times(Attempts& attempts, const std::string& network, std::size_t times) {
  for (std::size_t i = 0; i < times; ++i) attempts.count_failure(network, kStart);
}

TEST(Attempts, AfterABurstOfFailuresTheNetworkWaits) {
  Attempts attempts;
  fail_times(attempts, "192.0.2.1", Attempts::kBurst - 1);
  EXPECT_FALSE(attempts.must_wait("192.0.2.1", kStart));
  fail_times(attempts, "192.0.2.1", 1);
  EXPECT_EQ(attempts.must_wait("192.0.2.1", kStart), Attempts::kForgiveness);
  EXPECT_FALSE(attempts.must_wait("192.0.2.1", kStart + Attempts::kForgiveness));
}

TEST(Attempts, OtherNetworksAreNotAffected) {
  Attempts attempts;
  fail_times(attempts, "192.0.2.1", 100);
  EXPECT_TRUE(attempts.must_wait("192.0.2.1", kStart));
  EXPECT_FALSE(attempts.must_wait("192.0.2.2", kStart));
}

TEST(Attempts, FailuresAreForgottenOneByOne) {
  Attempts attempts;
  fail_times(attempts, "n", Attempts::kBurst + 3);
  EXPECT_EQ(attempts.must_wait("n", kStart), 4 * Attempts::kForgiveness);
  EXPECT_FALSE(attempts.must_wait("n", kStart + 4 * Attempts::kForgiveness));
}

TEST(Attempts, TheTableIsBounded) {
  Attempts attempts;
  fail_times(attempts, "stubborn", 50);
  for (std::size_t i = 0; i < 3 * Attempts::kNetworks; ++i) {
    attempts.count_failure(std::to_string(i), kStart);
  }
  EXPECT_EQ(attempts.size(), Attempts::kNetworks);
  EXPECT_TRUE(attempts.must_wait("stubborn", kStart));
}

}  // namespace
}  // namespace glovebox::signin
