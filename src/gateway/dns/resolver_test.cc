#include "gateway/dns/resolver.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "gateway/testing/scripted_dns.h"
#include "gateway/testing/test_sockets.h"

namespace glovebox::gateway {
namespace {

using namespace std::chrono_literals;
using testing::run_until;
using Asked = ScriptedDns::Asked;
using Bytes = ScriptedDns::Bytes;
using State = NameAnswer::State;
constexpr auto kA = net::DnsType::kA;
constexpr auto kAaaa = net::DnsType::kAaaa;

const std::vector<net::IpAddress> kFour = {ip("192.0.2.1"), ip("10.0.0.1")};
const std::vector<net::IpAddress> kSix = {ip("2001:db8::1")};

std::vector<Bytes> both(const Asked& asked) {
  return one(good(asked, asked.query.type == 1 ? kFour : kSix));
}

class ResolverTest : public ::testing::Test {
 protected:
  ResolverOptions options(const ScriptedDns& dns, bool ipv6 = true) {
    return {.servers = {dns.server()},
            .upstream = {.try_time = 200ms, .whole_time = 400ms},
            .has_ipv6 = [ipv6] { return ipv6; }};
  }
  asio::io_context io;
};

TEST_F(ResolverTest, ReturnsTheResolversAnswerUnfiltered) {
  ScriptedDns dns(io, both);
  Resolver resolver(io, options(dns));
  EXPECT_FALSE(resolver.find_now("t", host("a.example"), kA).has_value());
  const NameAnswer four = finish(io, resolver.find("t", host("a.example"), kA));
  EXPECT_EQ(four.state, State::kFound);
  EXPECT_EQ(four.addresses, kFour);
  EXPECT_EQ(four.ttl, 60s);
  const NameAnswer six = finish(io, resolver.find("t", host("a.example"), kAaaa));
  EXPECT_EQ(six.addresses, kSix);
}

TEST_F(ResolverTest, AsksOnceAndRemembersForThatTenantAlone) {
  ScriptedDns dns(io, both);
  Resolver resolver(io, options(dns));
  for (int i = 0; i < 3; ++i) finish(io, resolver.find("t", host("a.example"), kA));
  EXPECT_TRUE(resolver.find_now("t", host("a.example"), kA).has_value());
  EXPECT_EQ(dns.asked().size(), 1u);
  EXPECT_FALSE(resolver.find_now("other", host("a.example"), kA).has_value());
  finish(io, resolver.find("other", host("a.example"), kA));
  EXPECT_EQ(dns.asked().size(), 2u);
}

TEST_F(ResolverTest, ThoseWhoAskAtOnceShareOneQuestion) {
  ScriptedDns dns(io, both);
  Resolver resolver(io, options(dns));
  int answered = 0;
  for (int i = 0; i < 10; ++i) {
    asio::co_spawn(io, resolver.find("t", host("a.example"), kA),
                   [&](std::exception_ptr, NameAnswer answer) {
                     answered += answer.addresses == kFour ? 1 : 0;
                   });
  }
  finish(io, resolver.find("t", host("a.example"), kA));
  ASSERT_TRUE(run_until(io, [&] { return answered == 10; }));
  EXPECT_EQ(dns.asked().size(), 1u);
}

TEST_F(ResolverTest, WithoutIpv6NoAaaaQueryIsSent) {
  ScriptedDns dns(io, both);
  Resolver resolver(io, options(dns, false));
  EXPECT_EQ(resolver.find_now("t", host("a.example"), kAaaa)->state, State::kNoAddress);
  EXPECT_EQ(finish(io, resolver.find("t", host("a.example"), kAaaa)).state, State::kNoAddress);
  EXPECT_TRUE(dns.asked().empty());
}

TEST_F(ResolverTest, DistinguishesAbsenceFromFailure) {
  ScriptedDns dns(io, [](const Asked& asked) {
    const std::string& name = asked.query.name.str();
    if (name == "none.example") return one(with_code(asked, net::DnsCode::kNxDomain));
    if (name == "bare.example") return one(with_code(asked, net::DnsCode::kNoError));
    if (name == "fails.example") return one(with_code(asked, net::DnsCode::kServFail));
    return std::vector<Bytes>();
  });
  Resolver resolver(io, options(dns));
  EXPECT_EQ(finish(io, resolver.find("t", host("none.example"), kA)).state, State::kNoName);
  EXPECT_EQ(finish(io, resolver.find("t", host("bare.example"), kA)).state, State::kNoAddress);
  EXPECT_EQ(finish(io, resolver.find("t", host("fails.example"), kA)).state, State::kNoAnswer);
  EXPECT_EQ(finish(io, resolver.find("t", host("silent.example"), kA)).state, State::kNoAnswer);
  // Even a failure is remembered for a moment: resolvers that are down are not hammered.
  EXPECT_TRUE(resolver.find_now("t", host("silent.example"), kA).has_value());
}

TEST_F(ResolverTest, ReturnsTheAliases) {
  ScriptedDns dns(
      io, [](const Asked& asked) { return one(alias(asked, "cdn.example", ip("192.0.2.7"))); });
  Resolver resolver(io, options(dns));
  const NameAnswer answer = finish(io, resolver.find("t", host("a.example"), kA));
  EXPECT_EQ(answer.addresses, std::vector{ip("192.0.2.7")});
  EXPECT_EQ(answer.aliases, std::vector{host("cdn.example")});
}

TEST_F(ResolverTest, QuestionsOfATenantAreBoundedAndHinderNoOther) {
  std::vector<Asked> waiting;
  ScriptedDns* self = nullptr;
  ScriptedDns dns(io, [&](const Asked& asked) {
    if (asked.query.name == host("quick.example")) return one(good(asked, kFour));
    waiting.push_back(asked);
    return std::vector<Bytes>();
  });
  self = &dns;
  ResolverOptions with = options(dns);
  with.upstream = {.try_time = 10s, .whole_time = 10s};
  with.max_open_of_tenant = 2;
  Resolver resolver(io, with);
  int ended = 0;
  for (const char* name : {"x.example", "y.example"}) {
    asio::co_spawn(io, resolver.find("loud", host(name), kA),
                   [&](std::exception_ptr, NameAnswer) { ++ended; });
  }
  while (waiting.size() < 2) io.run_one();
  EXPECT_EQ(finish(io, resolver.find("loud", host("quick.example"), kA)).state, State::kNoAnswer);
  EXPECT_EQ(finish(io, resolver.find("calm", host("quick.example"), kA)).state, State::kFound);
  for (const Asked& asked : waiting) self->send(asked.from, good(asked, kFour));
  ASSERT_TRUE(run_until(io, [&] { return ended == 2; }));
  EXPECT_EQ(finish(io, resolver.find("loud", host("quick.example"), kA)).state, State::kFound);
}

TEST_F(ResolverTest, MayBeDestroyedWhileTasksWait) {
  ScriptedDns dns(io, [](const Asked&) { return std::vector<Bytes>(); });
  int ended = 0;
  {
    Resolver resolver(io, options(dns));
    asio::co_spawn(io, resolver.find("t", host("a.example"), kA),
                   [&](std::exception_ptr, NameAnswer) { ++ended; });
    while (dns.asked().empty()) io.run_one();
  }
  ASSERT_TRUE(run_until(io, [&] { return ended == 1; }));
  // And while it asks when the whole context ends.
  Resolver resolver(io, options(dns));
  asio::co_spawn(io, resolver.find("t", host("b.example"), kA), asio::detached);
  while (dns.asked().back().query.name != host("b.example")) io.run_one();
}

TEST_F(ResolverTest, WithoutServersThoseOfTheHostAreAsked) {
  // Nothing listens on port 53 of this address of the loopback's.
  char path[] = "/tmp/gbx-resolv-XXXXXX";
  ::close(::mkstemp(path));
  std::ofstream(path) << "nameserver 127.53.53.53\n";
  ResolverOptions with{.resolv_conf = path,
                       .upstream = {.try_time = 200ms, .whole_time = 400ms},
                       .has_ipv6 = [] { return false; }};
  Resolver resolver(io, with);
  EXPECT_EQ(finish(io, resolver.find("t", host("a.example"), kA)).state, State::kNoAnswer);
  ::unlink(path);
}

}  // namespace
}  // namespace glovebox::gateway
