#include "wire/network/net_policy_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/json/strict_json.h"

namespace glovebox::wire {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The canonical text, or the complaint.
std::string read(std::string_view text) {
  auto value = boost::json::parse(text);
  const auto policy = read_net_policy(value, "profile.net");
  if (policy) return net::canonical_text(*policy);
  EXPECT_EQ(policy.error().code(), Errc::kInvalidArgument);
  return policy.error().message();
}

TEST(NetPolicyJson, Words) {
  EXPECT_EQ(read(R"("none")"), R"("none")");
  EXPECT_EQ(read(R"("https-only")"), R"("https-only")");
  EXPECT_EQ(read(R"("all")"), R"("all")");
  for (const char* text : {R"("ALL")", R"("")", R"("https")", R"("all\u0000")", "true", "1", "null",
                           R"(["pypi.org"])"}) {
    EXPECT_THAT(read(text), StartsWith("profile.net: must be \"none\"")) << text;
  }
}

TEST(NetPolicyJson, TheBaseFollowsFromTheLists) {
  EXPECT_EQ(read(R"({"allow":["PyPI.org."]})"), R"({"allow":["pypi.org"]})");
  EXPECT_EQ(read(R"({"deny":["evil.example"]})"), R"({"deny":["evil.example"]})");
  EXPECT_EQ(read(R"({"deny":["evil.example"],"base":"all"})"), R"({"deny":["evil.example"]})");
  EXPECT_EQ(read(R"({"allow":["a.example"],"deny":["b.example"]})"),
            R"({"allow":["a.example"],"deny":["b.example"]})");
  EXPECT_EQ(read(R"({"allow":[]})"), R"("none")");
  EXPECT_EQ(read(R"({"deny":[]})"), R"("all")");
  EXPECT_EQ(read(R"({"allow":[],"deny":[]})"), R"("none")");
  EXPECT_EQ(read(R"({"base":"https-only"})"), R"("https-only")");
  EXPECT_EQ(read(R"({"base":"all","allow":null,"deny":null})"), R"("all")");
  EXPECT_EQ(read("{}"), "profile.net: must have allow, deny or base");
  EXPECT_EQ(read(R"({"budgets":{"names":1}})"), "profile.net: must have allow, deny or base");
  EXPECT_EQ(read(R"({"allow":null})"), "profile.net: must have allow, deny or base");
}

TEST(NetPolicyJson, BudgetsAndPrecedence) {
  EXPECT_EQ(read(R"({"base":"all","budgets":{"bytes_out":1000.0,"connections":0}})"),
            R"({"base":"all","budgets":{"bytes_out":1000,"connections":0}})");
  EXPECT_EQ(read(R"({"allow":["a.b"],"deny":["*"],"precedence":"allow"})"),
            R"({"allow":["a.b"],"deny":["*"],"precedence":"allow"})");
  EXPECT_EQ(read(R"({"allow":["a.b"],"deny":["*"],"precedence":"deny"})"),
            R"({"allow":["a.b"],"deny":["*"]})");
  EXPECT_THAT(read(R"({"base":"all","budgets":{"bytes_out":-1}})"),
              StartsWith("profile.net.budgets.bytes_out: must be a whole number"));
  EXPECT_THAT(read(R"({"base":"all","budgets":{"names":1.5}})"),
              StartsWith("profile.net.budgets.names:"));
  EXPECT_THAT(read(R"({"base":"all","budgets":{"connections":9007199254740993}})"),
              StartsWith("profile.net.budgets.connections:"));
  EXPECT_THAT(read(R"({"base":"all","budgets":{"bytes":1}})"),
              StartsWith("profile.net.budgets.bytes: unknown field"));
  EXPECT_THAT(read(R"({"base":"all","budgets":[]})"), HasSubstr("must be an object"));
  EXPECT_THAT(read(R"({"base":"all","precedence":"both"})"),
              StartsWith("profile.net.precedence: must be"));
}

TEST(NetPolicyJson, AMistakeNamesItsPlace) {
  EXPECT_THAT(read(R"({"allow":["a.example","b.example","c.example","a.*.b"]})"),
              StartsWith("profile.net.allow[3]: a '*' must be alone"));
  EXPECT_THAT(read(R"({"deny":["127.1"]})"), StartsWith("profile.net.deny[0]:"));
  EXPECT_EQ(read(R"({"allow":["a.example\u0000"]})"),
            "profile.net.allow[0]: must not have a NUL character");
  EXPECT_EQ(read(R"({"allow":[1]})"), "profile.net.allow[0]: must be a string");
  EXPECT_EQ(read(R"({"allow":"a.example"})"), "profile.net.allow: must be a list of strings");
  EXPECT_EQ(read(R"({"alow":["a.example"]})"),
            "profile.net.alow: unknown field; did you mean \"allow\"?");
  EXPECT_EQ(read(R"({"base":"some"})"), "profile.net.base: must be none, https-only or all");
  std::string many = "{\"allow\":[";
  for (int i = 0; i < 257; ++i) many += "\"a.example\",";
  many.back() = ']';
  EXPECT_THAT(read(many + "}"), StartsWith("profile.net.allow: must have at most 256"));
}

TEST(NetPolicyJson, WhatIsWrittenIsReadBack) {
  for (const char* text :
       {R"("none")", R"("https-only")", R"("all")",
        R"({"allow":["*.a.example:1-2","1.2.3.0/24","[2001:db8::/32]:443"],"base":"https-only",)"
        R"("budgets":{"bytes_out":1,"connections":2,"names":3},"deny":["b.example"],)"
        R"("precedence":"allow"})"}) {
    const auto policy = read_net_policy(*parse_strict_json(text), "net");
    ASSERT_TRUE(policy) << policy.error().message();
    EXPECT_EQ(boost::json::serialize(net_policy_json(*policy)), text);
    EXPECT_EQ(*read_net_policy(net_policy_json(*policy), "net"), *policy);
  }
}

}  // namespace
}  // namespace glovebox::wire
