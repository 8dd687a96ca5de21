#include "dialects/e2b/control/egress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::e2b {
namespace {

using ::testing::HasSubstr;

std::string meaning(std::string_view body, const net::NetCeiling& ceiling = {}) {
  const auto wanted = parse_egress(body);
  if (!wanted) return wanted.error().message();
  const net::NetPolicy policy = policy_of(*wanted, ceiling);
  const auto within = net::check_within(policy, ceiling);
  return within ? net::canonical_text(policy) : "beyond: " + within.error().message();
}

TEST(E2bEgress, WithoutRulesAllowsUpToTheCeiling) {
  EXPECT_EQ(meaning(""), net::canonical_text({.base = net::NetBase::kAll, .allow_wins = true}));
  EXPECT_EQ(meaning(R"({"allow_internet_access":true})"), meaning("{}"));
  net::NetCeiling narrow;
  narrow.policy.base = net::NetBase::kNone;
  narrow.policy.allow = {net::NetRule::parse("pypi.org:443").value()};
  EXPECT_THAT(meaning("{}", narrow), HasSubstr("pypi.org:443"));
  narrow.policy.allow.clear();
  EXPECT_EQ(meaning("{}", narrow), "\"none\"");
}

TEST(E2bEgress, WithoutInternetAllowsNothing) {
  EXPECT_EQ(meaning(R"({"allow_internet_access":false})"), "\"none\"");
}

TEST(E2bEgress, DenyingEverythingLeavesWhatIsAllowed) {
  const std::string only = meaning(R"({"allowOut":["1.1.1.1"],"denyOut":["0.0.0.0/0"]})");
  EXPECT_THAT(only, HasSubstr("1.1.1.1"));
  EXPECT_THAT(only, testing::Not(HasSubstr("0.0.0.0/0")));
  EXPECT_THAT(only, testing::Not(HasSubstr("\"all\"")));
  EXPECT_EQ(meaning(R"({"denyOut":["0.0.0.0/0"]})"), "\"none\"");
}

TEST(E2bEgress, DeniesSomeOfEverything) {
  EXPECT_EQ(meaning(R"({"denyOut":["8.8.8.8","*.evil.example"]})"),
            R"({"deny":["*.evil.example","8.8.8.8/32"]})");
}

TEST(E2bEgress, AllowsNoMoreThanTheCeiling) {
  net::NetCeiling narrow;
  narrow.policy.base = net::NetBase::kNone;
  narrow.policy.allow = {net::NetRule::parse("pypi.org:443").value()};
  EXPECT_THAT(meaning(R"({"allowOut":["evil.example"]})", narrow), HasSubstr("beyond"));
}

TEST(E2bEgress, RulesThatTheCeilingCoversAreNotRepeated) {
  net::NetCeiling narrow;
  narrow.policy.base = net::NetBase::kHttpsOnly;
  narrow.policy.allow = {net::NetRule::parse("*.example.org").value()};
  EgressRequest wanted;
  for (std::size_t i = 0; i < net::kMaxRules; ++i) {
    wanted.allow.push_back(net::NetRule::parse("n" + std::to_string(i) + ".example.org").value());
  }
  EXPECT_EQ(policy_of(wanted, narrow).allow.size(), 1u);
}

TEST(E2bEgress, RefusesUnsupportedRules) {
  EXPECT_THAT(meaning(R"({"rules":{"a.example":[]}})"), HasSubstr("rules"));
  EXPECT_THAT(meaning(R"({"egressProxy":{"address":"p:1"}})"), HasSubstr("egressProxy"));
  EXPECT_THAT(meaning(R"({"allowOut":["127.1"]})"), HasSubstr("allowOut"));
  EXPECT_THAT(meaning(R"({"denyOut":"1.1.1.1"})"), HasSubstr("denyOut"));
  EXPECT_THAT(meaning(R"({"denyOut":[1]})"), HasSubstr("denyOut"));
}

TEST(E2bEgress, EachListHasAtMostSoManyRules) {
  const auto body = [](const char* list, std::size_t count) {
    boost::json::array rules;
    for (std::size_t i = 0; i < count; ++i)
      rules.emplace_back("n" + std::to_string(i) + ".example");
    return boost::json::serialize(boost::json::object{{list, std::move(rules)}});
  };
  for (const char* list : {"allowOut", "denyOut"}) {
    EXPECT_TRUE(parse_egress(body(list, net::kMaxRules)));
    const auto refused = parse_egress(body(list, net::kMaxRules + 1));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("at most 256"));
  }
}

TEST(E2bEgress, OnlyAllOfIpV4AtAllPortsIsEverything) {
  for (const char* part : {"0.0.0.0/0:443", "0.0.0.0/1", "::/0", "*:1-65534"}) {
    const std::string denied = R"({"denyOut":[")" + std::string(part) + R"("]})";
    EXPECT_THAT(meaning(denied), HasSubstr("deny")) << part;
  }
  EXPECT_EQ(meaning(R"({"denyOut":["*"]})"), "\"none\"");
}

TEST(E2bEgress, WhatIsEmptyIsNotGiven) {
  for (const char* text : {"null", "[]", "{}", "\"\""}) {
    const boost::json::value value = boost::json::parse(text);
    EXPECT_EQ(is_given(&value), value.is_null()) << text;
  }
  for (const char* text : {"[1]", "{\"a\":1}", "\"a\"", "0", "false"}) {
    const boost::json::value value = boost::json::parse(text);
    EXPECT_TRUE(is_given(&value)) << text;
  }
  EXPECT_FALSE(is_given(nullptr));
}

TEST(E2bEgress, IsShownAsItWasGiven) {
  const auto wanted = parse_egress(R"({"allowOut":["a.example"],"denyOut":["0.0.0.0/0"]})");
  const auto shown = egress_json(policy_of(*wanted, {}));
  EXPECT_EQ(boost::json::serialize(shown), R"({"allowOut":["a.example"],"denyOut":["0.0.0.0/0"]})");
}

}  // namespace
}  // namespace glovebox::e2b
