#include "gateway/dns/name_cache.h"

#include <gtest/gtest.h>

namespace glovebox::gateway {
namespace {

using namespace std::chrono_literals;
using State = NameAnswer::State;

const NameCache::Time kStart{100h};
constexpr auto kA = net::DnsType::kA;

net::HostName host(std::string_view name) { return net::HostName::parse(name).value(); }
NameAnswer found(std::chrono::seconds ttl) {
  return {.state = State::kFound,
          .addresses = {net::IpAddress::v4({192, 0, 2, 1})},
          .aliases = {},
          .ttl = ttl};
}
NameAnswer nothing(State state) {
  return {.state = state, .addresses = {}, .aliases = {}, .ttl = 3600s};
}

TEST(NameCache, CachesAnAnswerForItsTtlAndReturnsTheRemainingTtl) {
  NameCache cache({});
  EXPECT_FALSE(cache.find("t", host("a.example"), kA, kStart).has_value());
  EXPECT_EQ(cache.keep("t", host("a.example"), kA, found(10s), kStart).ttl, 10s);
  const auto known = cache.find("t", host("a.example"), kA, kStart + 4s);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->ttl, 6s);
  EXPECT_EQ(known->addresses, found(1s).addresses);
  EXPECT_TRUE(cache.find("t", host("a.example"), kA, kStart + 9999ms).has_value());
  EXPECT_FALSE(cache.find("t", host("a.example"), kA, kStart + 10s).has_value());
  EXPECT_EQ(cache.names("t"), 0u);
}

TEST(NameCache, ClipsTheTime) {
  NameCache cache({});
  EXPECT_EQ(cache.keep("t", host("long.example"), kA, found(86400s), kStart).ttl, 60s);
  EXPECT_EQ(cache.keep("t", host("short.example"), kA, found(0s), kStart).ttl, 1s);
  EXPECT_EQ(cache.keep("t", host("none.example"), kA, nothing(State::kNoName), kStart).ttl, 5s);
  EXPECT_EQ(cache.keep("t", host("bare.example"), kA, nothing(State::kNoAddress), kStart).ttl, 5s);
  EXPECT_EQ(cache.keep("t", host("lost.example"), kA, nothing(State::kNoAnswer), kStart).ttl, 1s);
  EXPECT_FALSE(cache.find("t", host("long.example"), kA, kStart + 60s).has_value());
  EXPECT_FALSE(cache.find("t", host("lost.example"), kA, kStart + 1s).has_value());
}

TEST(NameCache, TenantsAndTypesAreApart) {
  NameCache cache({});
  cache.keep("one", host("a.example"), kA, found(10s), kStart);
  EXPECT_FALSE(cache.find("two", host("a.example"), kA, kStart).has_value());
  EXPECT_FALSE(cache.find("one", host("a.example"), net::DnsType::kAaaa, kStart).has_value());
  EXPECT_TRUE(cache.find("one", host("a.example"), kA, kStart).has_value());
}

TEST(NameCache, ForgetsWhatWasUsedLongestAgo) {
  NameCache cache({.max_names = 3});
  for (const char* name : {"a.example", "b.example", "c.example"}) {
    cache.keep("t", host(name), kA, found(60s), kStart);
  }
  EXPECT_TRUE(cache.find("t", host("a.example"), kA, kStart).has_value());
  cache.keep("t", host("d.example"), kA, found(60s), kStart);
  EXPECT_EQ(cache.names("t"), 3u);
  EXPECT_TRUE(cache.find("t", host("a.example"), kA, kStart).has_value());
  EXPECT_FALSE(cache.find("t", host("b.example"), kA, kStart).has_value());
  EXPECT_TRUE(cache.find("t", host("d.example"), kA, kStart).has_value());
}

TEST(NameCache, AskingAgainReplaces) {
  NameCache cache({.max_names = 2});
  for (int i = 0; i < 5; ++i) cache.keep("t", host("a.example"), kA, found(60s), kStart);
  cache.keep("t", host("b.example"), kA, found(60s), kStart);
  EXPECT_EQ(cache.names("t"), 2u);
}

TEST(NameCache, OneTenantPushesOutNothingOfAnother) {
  NameCache cache({.max_names = 4});
  cache.keep("quiet", host("a.example"), kA, found(60s), kStart);
  for (int i = 0; i < 1000; ++i) {
    cache.keep("loud", host("x" + std::to_string(i) + ".example"), kA, found(60s), kStart);
  }
  EXPECT_EQ(cache.names("loud"), 4u);
  EXPECT_TRUE(cache.find("quiet", host("a.example"), kA, kStart).has_value());
}

TEST(NameCache, TenantsAreBounded) {
  NameCache cache({.max_tenants = 2});
  cache.keep("one", host("a.example"), kA, found(60s), kStart);
  cache.keep("two", host("a.example"), kA, found(60s), kStart);
  EXPECT_TRUE(cache.find("one", host("a.example"), kA, kStart).has_value());
  cache.keep("three", host("a.example"), kA, found(60s), kStart);
  EXPECT_EQ(cache.tenants(), 2u);
  EXPECT_TRUE(cache.find("one", host("a.example"), kA, kStart).has_value());
  EXPECT_FALSE(cache.find("two", host("a.example"), kA, kStart).has_value());
}

}  // namespace
}  // namespace glovebox::gateway
