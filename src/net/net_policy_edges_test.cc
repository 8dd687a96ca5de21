// Decisions where nothing was said, at port 0, and where policy and ceiling both deny;
// net_policy_test.cc has the rules.
#include <gtest/gtest.h>

#include "net/net_policy.h"

namespace glovebox::net {
namespace {

NetPolicy all_but(std::initializer_list<std::string_view> denied) {
  NetPolicy policy{.base = NetBase::kAll};
  for (const std::string_view text : denied) policy.deny.push_back(*NetRule::parse(text));
  return policy;
}
Verdict at_connect(const NetRules& rules, std::string_view address, std::uint16_t port) {
  return decide_at_connect(rules, *IpAddress::parse(address), port, {}).verdict;
}

TEST(NetPolicy, NothingSaidIsNothingAllowed) {
  EXPECT_FALSE(Verdict{}.allowed);
  EXPECT_FALSE(AtConnect{}.verdict.allowed);
  EXPECT_FALSE(AtConnect{}.needs_server_name);
  EXPECT_FALSE(AtConnect{}.unnamed_too);
  EXPECT_FALSE(NetPolicy{}.allow_wins);
  EXPECT_TRUE(NetPolicy{}.is_none());
  EXPECT_FALSE(NetCeiling{}.any_address);
}

TEST(Decide, WhereBothDenyThePolicysRuleIsReported) {
  const NetRules both{.policy = all_but({"evil.example", "8.8.8.8"}),
                      .ceiling = {.policy = all_but({"*.example", "8.8.8.0/24"}), .opened = {}}};
  EXPECT_EQ(may_resolve(both, *HostName::parse("evil.example")),
            (Verdict{false, "deny evil.example"}));
  EXPECT_EQ(at_connect(both, "8.8.8.8", 53), (Verdict{false, "deny 8.8.8.8/32"}));
  EXPECT_EQ(at_connect(both, "8.8.8.9", 53), (Verdict{false, "ceiling: deny 8.8.8.0/24"}));
}

TEST(Decide, PortZeroIsNone) {
  const NetRules all{.policy = all_but({}), .ceiling = {}};
  EXPECT_EQ(at_connect(all, "8.8.8.8", 0), (Verdict{false, "not in the policy"}));
  EXPECT_EQ(decide_named(all, *IpAddress::parse("8.8.8.8"), 0, *HostName::parse("pypi.org")),
            (Verdict{false, "not in the policy"}));
  EXPECT_EQ(at_connect(all, "8.8.8.8", 1), (Verdict{true, "base all"}));
}

}  // namespace
}  // namespace glovebox::net
