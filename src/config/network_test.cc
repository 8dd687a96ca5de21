#include "config/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::config {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(NetCeiling, IsWhatTheSettingsSay) {
  Settings settings;
  settings.net_ceiling = "https-only";
  settings.net_allow = {"PyPI.org:22"};
  settings.net_deny = {"*.evil.example"};
  settings.net_opened = {"10.1.2.0/24"};
  settings.net_max_connections = 7;
  const auto ceiling = net_ceiling(settings);
  ASSERT_TRUE(ceiling) << ceiling.error().message();
  EXPECT_EQ(ceiling->policy.base, net::NetBase::kHttpsOnly);
  ASSERT_THAT(ceiling->policy.allow, SizeIs(1));
  EXPECT_EQ(ceiling->policy.allow[0].text(), "pypi.org:22");
  ASSERT_THAT(ceiling->policy.deny, SizeIs(1));
  ASSERT_THAT(ceiling->opened, SizeIs(1));
  EXPECT_EQ(ceiling->opened[0].text(), "10.1.2.0/24");
  EXPECT_EQ(ceiling->policy.budgets.bytes_out, std::nullopt);
  EXPECT_EQ(ceiling->policy.budgets.connections, 7u);
}

TEST(NetCeiling, HasNoMoreRulesThanAPolicyMayHave) {
  const std::vector<std::string> many(net::kMaxRules + 1, "a.example");
  EXPECT_FALSE(parse_net_rules(many));
}

TEST(NameServers, AreAddressesWithOrWithoutAPort) {
  const auto parsed =
      parse_name_servers({"192.0.2.53", "192.0.2.53:5353", "2001:db8::53", "[2001:db8::53]:54"});
  ASSERT_TRUE(parsed) << parsed.error().message();
  ASSERT_THAT(*parsed, SizeIs(4));
  EXPECT_EQ((*parsed)[0].port, 53);
  EXPECT_EQ((*parsed)[1].port, 5353);
  EXPECT_EQ((*parsed)[2].address.text(), "2001:db8::53");
  EXPECT_EQ((*parsed)[3].port, 54);
}

TEST(NameServers, RefuseWhatIsNoAddress) {
  for (const char* word : {"", "dns.example", "192.0.2.53:", "192.0.2.53:0", "192.0.2.53:70000",
                           "[192.0.2.53]:53", "[2001:db8::53]", "192.0.2.53 ", "192.0.2.53:5 3"}) {
    const auto parsed = parse_name_servers({word});
    ASSERT_FALSE(parsed) << word;
    EXPECT_THAT(parsed.error().message(), HasSubstr("must be an address"));
  }
}

}  // namespace
}  // namespace glovebox::config
