#include "wire/network/network_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Words = std::vector<std::string>;

// The canonical text, or the complaint.
std::string read(const Words& net, const Words& deny = {}) {
  const auto policy = parse_network_options(net, deny);
  if (policy) return net::canonical_text(*policy);
  EXPECT_EQ(policy.error().code(), Errc::kInvalidArgument);
  return policy.error().message();
}

TEST(NetworkOptions, NothingSaidIsNone) {
  EXPECT_EQ(read({}), R"("none")");
  EXPECT_EQ(read({"none"}), R"("none")");
}

TEST(NetworkOptions, PoliciesByName) {
  EXPECT_EQ(read({"https-only"}), R"("https-only")");
  EXPECT_EQ(read({"all"}), R"("all")");
  EXPECT_EQ(read({"all", "all"}), R"("all")");
}

TEST(NetworkOptions, RulesMakeAnAllowList) {
  const std::string both = R"({"allow":["*.b.example","a.example:443"]})";
  EXPECT_EQ(read({"a.example:443,*.b.example"}), both);
  EXPECT_EQ(read({"*.b.example", "A.example.:443"}), both);
  EXPECT_EQ(read({"[2001:db8::/32]:443,192.0.2.0/24"}),
            R"({"allow":["192.0.2.0/24","[2001:db8::/32]:443"]})");
  EXPECT_EQ(read({"https-only,db.example:5432"}),
            R"({"allow":["db.example:5432"],"base":"https-only"})");
}

TEST(NetworkOptions, DenyTakesSomethingAway) {
  EXPECT_EQ(read({"all"}, {"evil.example,10.0.0.0/8", "*:25"}),
            R"({"deny":["*:25","10.0.0.0/8","evil.example"]})");
  EXPECT_EQ(read({"*.example"}, {"evil.example"}),
            R"({"allow":["*.example"],"deny":["evil.example"]})");
  EXPECT_THAT(read({}, {"evil.example"}), StartsWith("--net-deny needs --net"));
  EXPECT_THAT(read({"all"}, {"all"}), HasSubstr("all")) << "a name of one part";
}

TEST(NetworkOptions, OnePolicyInJson) {
  EXPECT_EQ(read({R"({"allow":["a.example"],"budgets":{"names":3}})"}),
            R"({"allow":["a.example"],"budgets":{"names":3}})");
  EXPECT_THAT(read({R"({"allow":["a.*"]})"}), StartsWith("--net.allow[0]: "));
  EXPECT_THAT(read({R"({"allow":)"}), StartsWith("--net: "));
  EXPECT_THAT(read({R"({"allow":[]})", "all"}), HasSubstr("cannot be combined"));
  EXPECT_THAT(read({"all", R"({"allow":[]})"}), HasSubstr("cannot be combined"));
  EXPECT_THAT(read({R"({"allow":[]})"}, {"a.example"}), HasSubstr("cannot be combined"));
}

TEST(NetworkOptions, AMistakeIsOneClearLine) {
  EXPECT_THAT(read({""}), StartsWith("--net '': the rule is empty"));
  EXPECT_THAT(read({"a.example,"}), StartsWith("--net '': the rule is empty"));
  EXPECT_THAT(read({"https://a.example"}), HasSubstr("not a URL"));
  for (const char* word : {"HTTPS only", "https", "host", "internet", "None", "ALL"}) {
    EXPECT_THAT(read({word}), HasSubstr("the policies are none, https-only and all")) << word;
  }
  EXPECT_EQ(read({"printer:631", "host."}), R"({"allow":["host","printer:631"]})");
  EXPECT_THAT(read({"all,https-only"}), HasSubstr("cannot be combined"));
  EXPECT_THAT(read({"none,a.example"}), HasSubstr("cannot be combined"));
  EXPECT_THAT(read({"all"}, {"127.1"}), StartsWith("--net-deny '127.1': "));
  EXPECT_THAT(read({"10.0.0.1/8"}), HasSubstr("10.0.0.0/8"));
  EXPECT_THAT(read(Words(257, "a.example")), HasSubstr("at most 256 rules"));
}

}  // namespace
}  // namespace glovebox::wire
