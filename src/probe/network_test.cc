#include "probe/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

TEST(Network, WithoutOneSandboxesHaveLoopbackOnly) {
  Findings findings;
  explain(NetworkFacts{Attempt::failed("set nftables rules", EOPNOTSUPP)}, findings);
  EXPECT_EQ(findings.at(0).state, State::kWarn);
  EXPECT_THAT(findings.at(0).detail, ::testing::HasSubstr("only loopback"));
  EXPECT_THAT(findings.at(0).fix, ::testing::HasSubstr("TPROXY"));
}

TEST(Network, WhereItIsThereItIsOk) {
  Findings findings;
  explain(NetworkFacts{}, findings);
  EXPECT_EQ(findings.at(0).state, State::kOk);
}

}  // namespace
}  // namespace glovebox::probe
