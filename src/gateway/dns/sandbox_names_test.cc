#include "gateway/dns/sandbox_names.h"

#include <gtest/gtest.h>

#include "gateway/testing/scripted_dns.h"

namespace glovebox::gateway {
namespace {

using namespace std::chrono_literals;
using Asked = ScriptedDns::Asked;
using Bytes = ScriptedDns::Bytes;
using Addresses = std::vector<net::IpAddress>;
using Names = std::vector<net::HostName>;
using net::DnsCode;

net::NetRule rule(std::string_view text) { return net::NetRule::parse(text).value(); }

std::shared_ptr<const net::NetRules> allowing(std::vector<std::string> allow,
                                              std::vector<std::string> deny = {},
                                              net::NetBase base = net::NetBase::kNone) {
  net::NetRules rules;
  rules.policy.base = base;
  for (const std::string& text : allow) rules.policy.allow.push_back(rule(text));
  for (const std::string& text : deny) rules.policy.deny.push_back(rule(text));
  return std::make_shared<const net::NetRules>(std::move(rules));
}

net::DnsQuery query(std::string_view name, unsigned type = 1) {
  return {.id = 1,
          .recursion_desired = true,
          .name = host(name),
          .type = static_cast<std::uint16_t>(type),
          .asked_name = {}};
}

class SandboxNamesTest : public ::testing::Test {
 protected:
  SandboxNamesTest()
      : dns(io,
            [this](const Asked& asked) {
              const auto known = addresses.find(asked.query.name.str());
              if (known == addresses.end()) return one(with_code(asked, DnsCode::kNxDomain));
              return one(good(asked, known->second));
            }),
        resolver(io, {.servers = {dns.server()}, .has_ipv6 = [this] { return ipv6; }}) {}

  std::shared_ptr<SandboxNames> make(std::shared_ptr<const net::NetRules> rules,
                                     SandboxNamesOptions options = {}) {
    options.tenant = "t";
    return SandboxNames::make(
        resolver, options, std::move(rules),
        [this](wire::NetDecision decision) { decisions.push_back(std::move(decision)); },
        [this] { return now; });
  }
  NameReply ask(const std::shared_ptr<SandboxNames>& names, std::string_view name,
                unsigned type = 1) {
    if (auto reply = names->reply_now(query(name, type))) return *reply;
    return finish(io, SandboxNames::resolve_and_reply(names, query(name, type)));
  }
  net::Verdict confirm(const std::shared_ptr<SandboxNames>& names, std::string_view name,
                       std::string_view address) {
    return finish(io, SandboxNames::confirm(names, host(name), ip(address)));
  }
  // "+name address rule" of the last decision.
  std::string last() const {
    if (decisions.empty()) return "";
    const wire::NetDecision& d = decisions.back();
    return (d.allowed ? "+" : "-") + d.name + " " + d.address + " " + d.rule;
  }

  asio::io_context io;
  std::map<std::string, Addresses> addresses;
  ScriptedDns dns;
  bool ipv6 = true;
  Resolver resolver;
  std::vector<wire::NetDecision> decisions;
  std::chrono::steady_clock::time_point now{100h};
};

TEST_F(SandboxNamesTest, ResolvesAnAllowedNameAndPinsTheAddresses) {
  addresses["www.example.org"] = {ip("93.184.216.34"), ip("93.184.216.35")};
  const auto names = make(allowing({"*.example.org"}));
  const NameReply reply = ask(names, "www.example.org");
  EXPECT_EQ(reply.code, DnsCode::kNoError);
  EXPECT_EQ(reply.addresses, addresses["www.example.org"]);
  EXPECT_EQ(reply.ttl_s, 60u);
  EXPECT_EQ(reply.why, "");
  EXPECT_EQ(names->names_of(ip("93.184.216.35")), Names{host("www.example.org")});
  EXPECT_EQ(names->names(), 1u);
  EXPECT_EQ(last(), "+www.example.org 93.184.216.34 allow *.example.org");
  EXPECT_EQ(decisions.back().what, wire::NetDecision::What::kResolve);
}

TEST_F(SandboxNamesTest, ANameThatIsNotAllowedIsNotQueried) {
  addresses["secret.evil.example"] = {ip("93.184.216.34")};
  const auto names = make(allowing({"www.example.org"}));
  for (const unsigned type : {1u, 28u, 16u, 65u}) {
    const NameReply reply = ask(names, "secret.evil.example", type);
    EXPECT_EQ(reply.code, DnsCode::kNxDomain);
    EXPECT_FALSE(reply.why.empty());
    EXPECT_EQ(last(), "-secret.evil.example  " + reply.why);
  }
  EXPECT_FALSE(confirm(names, "secret.evil.example", "93.184.216.34").allowed);
  EXPECT_TRUE(dns.asked().empty());
  EXPECT_EQ(names->names(), 0u);
}

TEST_F(SandboxNamesTest, OtherTypesAreEmptyAndNotQueried) {
  const auto names = make(allowing({"www.example.org"}));
  for (const unsigned type : {64u, 65u, 16u, 15u, 255u, 252u}) {
    const NameReply reply = ask(names, "www.example.org", type);
    EXPECT_EQ(reply.code, DnsCode::kNoError);
    EXPECT_TRUE(reply.addresses.empty());
    EXPECT_EQ(reply.why, "");
  }
  EXPECT_TRUE(dns.asked().empty());
  EXPECT_TRUE(decisions.empty());
}

TEST_F(SandboxNamesTest, ReservedAddressesAreNeitherReturnedNorPinned) {
  addresses["rebind.example.org"] = {ip("127.0.0.1"), ip("93.184.216.34"), ip("10.0.0.1"),
                                     ip("169.254.169.254")};
  const auto names = make(allowing({"*.example.org"}));
  EXPECT_EQ(ask(names, "rebind.example.org").addresses, Addresses{ip("93.184.216.34")});
  EXPECT_TRUE(names->names_of(ip("127.0.0.1")).empty());
  EXPECT_TRUE(names->names_of(ip("169.254.169.254")).empty());
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_FALSE(decisions[0].allowed);
  EXPECT_EQ(decisions[0].address, "127.0.0.1");
}

TEST_F(SandboxNamesTest, OnlyReservedAddressesAreNoneWithTheReason) {
  addresses["rebind.example.org"] = {ip("10.0.0.1")};
  const auto names = make(allowing({"*.example.org"}));
  const NameReply reply = ask(names, "rebind.example.org");
  EXPECT_EQ(reply.code, DnsCode::kNoError);
  EXPECT_TRUE(reply.addresses.empty());
  EXPECT_NE(reply.why.find("reserved"), std::string::npos);
  EXPECT_FALSE(confirm(names, "rebind.example.org", "10.0.0.2").allowed);
}

TEST_F(SandboxNamesTest, ReportsAnOpenedRange) {
  addresses["in.example.org"] = {ip("10.1.2.3")};
  net::NetRules rules = *allowing({"*.example.org"});
  rules.ceiling.opened.push_back(net::Cidr::parse("10.1.0.0/16").value());
  const auto names = make(std::make_shared<const net::NetRules>(rules));
  EXPECT_EQ(ask(names, "in.example.org").addresses, Addresses{ip("10.1.2.3")});
}

TEST_F(SandboxNamesTest, AddressesOfTheOtherFamilyAreNotPinnedByAQuestion) {
  ScriptedDns mapped(io, [](const Asked& asked) {
    // An AAAA that is a mapped IPv4 address: ::ffff:93.184.216.34.
    Bytes bytes = good(asked, {ip("2001:db8::1")});
    const std::uint8_t tail[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 93, 184, 216, 34};
    for (std::size_t i = 0; i < 16; ++i) bytes[bytes.size() - 16 + i] = std::byte{tail[i]};
    return one(std::move(bytes));
  });
  Resolver other(io, {.servers = {mapped.server()}, .has_ipv6 = [] { return true; }});
  const auto names =
      SandboxNames::make(other, {.tenant = "t"}, allowing({"a.example.org"}), nullptr);
  EXPECT_TRUE(ask(names, "a.example.org", 28).addresses.empty());
  EXPECT_TRUE(names->names_of(ip("93.184.216.34")).empty());
}

TEST_F(SandboxNamesTest, ReturnsAtMostEightAddresses) {
  for (int i = 0; i < 20; ++i) {
    addresses["many.example.org"].push_back(ip("93.184.216." + std::to_string(i)));
  }
  const auto names = make(allowing({"*.example.org"}));
  EXPECT_EQ(ask(names, "many.example.org").addresses.size(), SandboxNames::kMaxAddressesPerReply);
  EXPECT_TRUE(names->names_of(ip("93.184.216.19")).empty());
  EXPECT_TRUE(confirm(names, "many.example.org", "93.184.216.19").allowed);
}

TEST_F(SandboxNamesTest, WithoutIpv6ThereIsNoAaaaAndNoNoise) {
  ipv6 = false;
  const auto names = make(allowing({"*.example.org"}));
  const NameReply reply = ask(names, "www.example.org", 28);
  EXPECT_EQ(reply.code, DnsCode::kNoError);
  EXPECT_TRUE(reply.addresses.empty());
  EXPECT_TRUE(decisions.empty());
  EXPECT_TRUE(dns.asked().empty());
}

TEST_F(SandboxNamesTest, ANameThatDoesNotExistDoesNotExist) {
  const auto names = make(allowing({"*.example.org"}));
  const NameReply reply = ask(names, "none.example.org");
  EXPECT_EQ(reply.code, DnsCode::kNxDomain);
  EXPECT_EQ(reply.why, "") << "nothing is prohibited";
  EXPECT_EQ(last(), "+none.example.org  no such name");
}

TEST_F(SandboxNamesTest, AnAliasOfADeniedNameIsDenied) {
  ScriptedDns cloaked(io, [](const Asked& asked) {
    return one(alias(asked, "track.evil.example", ip("93.184.216.34")));
  });
  Resolver other(io, {.servers = {cloaked.server()}, .has_ipv6 = [] { return false; }});
  const auto with = [&](std::shared_ptr<const net::NetRules> rules) {
    const auto names = SandboxNames::make(other, {.tenant = "t"}, std::move(rules), nullptr);
    const NameReply reply = ask(names, "www.example.org");
    const net::Verdict verdict = confirm(names, "www.example.org", "93.184.216.34");
    EXPECT_EQ(verdict.allowed, !reply.addresses.empty());
    return reply.why;
  };
  EXPECT_EQ(with(allowing({}, {"*.evil.example"}, net::NetBase::kAll)), "deny *.evil.example");
  EXPECT_EQ(with(allowing({}, {"other.example"}, net::NetBase::kAll)), "");
  EXPECT_EQ(with(allowing({"www.example.org"})), "") << "an alias need not be in the list";
  net::NetRules wins = *allowing({"www.example.org"}, {"*"});
  wins.policy.allow_wins = true;
  EXPECT_EQ(with(std::make_shared<const net::NetRules>(wins)), "");
  net::NetRules ceiling = *allowing({"www.example.org"});
  ceiling.ceiling.policy.deny.push_back(rule("track.evil.example"));
  EXPECT_EQ(with(std::make_shared<const net::NetRules>(ceiling)),
            "ceiling: deny track.evil.example");
}

TEST_F(SandboxNamesTest, DistinctNamesHaveABudget) {
  const auto names = make(allowing({"*.example.org"}), {.tenant = {}, .max_names = 2});
  ask(names, "a.example.org");
  ask(names, "b.example.org");
  ask(names, "a.example.org", 28);
  EXPECT_FALSE(names->is_spent());
  const std::size_t asked = dns.asked().size();
  const NameReply reply = ask(names, "c.example.org");
  EXPECT_EQ(reply.code, DnsCode::kRefused);
  EXPECT_EQ(reply.why, "budget: names");
  EXPECT_EQ(last(), "-c.example.org  budget: names");
  EXPECT_EQ(confirm(names, "c.example.org", "93.184.216.34").rule, "budget: names");
  EXPECT_TRUE(names->is_spent());
  EXPECT_EQ(names->names(), 2u);
  EXPECT_EQ(dns.asked().size(), asked);
  EXPECT_EQ(ask(names, "b.example.org").code, DnsCode::kNxDomain) << "a known name costs nothing";
  names->set_max_names(3);
  EXPECT_FALSE(names->is_spent());
  EXPECT_EQ(ask(names, "c.example.org").code, DnsCode::kNxDomain);
}

TEST_F(SandboxNamesTest, QuestionsHaveARateAndRefusalsToo) {
  const auto names = make(allowing({"*.example.org"}));
  using Rate = SandboxNames::Rate;
  int within = 0;
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const Rate rate = names->take_question();
    within += rate == Rate::kWithin ? 1 : 0;
    refused += rate == Rate::kRefused ? 1 : 0;
  }
  EXPECT_EQ(within, 200);
  EXPECT_EQ(refused, 100);
  EXPECT_EQ(names->silence_time(), 20ms);
  EXPECT_EQ(confirm(names, "www.example.org", "93.184.216.34").rule, "rate: names");
  EXPECT_EQ(names->refuse_by_rate().code, DnsCode::kRefused);
  EXPECT_EQ(last(), "-  rate: names");
  now += 1s;
  within = 0;
  for (int i = 0; i < 1000; ++i) within += names->take_question() == Rate::kWithin ? 1 : 0;
  EXPECT_EQ(within, 50);
}

TEST_F(SandboxNamesTest, ConfirmsAPinWithoutAQuery) {
  addresses["www.example.org"] = {ip("93.184.216.34")};
  const auto names = make(allowing({"*.example.org"}));
  ask(names, "www.example.org");
  addresses["www.example.org"] = {ip("93.184.216.99")};
  EXPECT_TRUE(confirm(names, "www.example.org", "93.184.216.34").allowed);
  EXPECT_EQ(dns.asked().size(), 1u);
}

TEST_F(SandboxNamesTest, ConfirmsWhatTheResolverReturnsNow) {
  addresses["www.example.org"] = {ip("93.184.216.34")};
  addresses["six.example.org"] = {ip("2606:2800::1")};
  const auto names = make(allowing({"*.example.org"}));
  EXPECT_TRUE(confirm(names, "www.example.org", "93.184.216.34").allowed);
  EXPECT_EQ(names->names_of(ip("93.184.216.34")), Names{host("www.example.org")});
  EXPECT_EQ(names->names(), 1u);
  EXPECT_TRUE(confirm(names, "six.example.org", "2606:2800::1").allowed);
  const net::Verdict elsewhere = confirm(names, "www.example.org", "93.184.216.99");
  EXPECT_FALSE(elsewhere.allowed);
  EXPECT_EQ(elsewhere.rule, "not an address of this name");
  EXPECT_TRUE(names->names_of(ip("93.184.216.99")).empty());
}

TEST_F(SandboxNamesTest, AChangedPolicyCountsAtOnceAndForAnswersUnderWay) {
  addresses["www.example.org"] = {ip("93.184.216.34")};
  const auto names = make(allowing({"*.example.org"}));
  ASSERT_FALSE(names->reply_now(query("www.example.org")).has_value());
  auto task = SandboxNames::resolve_and_reply(names, query("www.example.org"));
  names->set_rules(allowing({"other.example"}));
  EXPECT_EQ(finish(io, std::move(task)).code, DnsCode::kNxDomain);
  EXPECT_TRUE(names->names_of(ip("93.184.216.34")).empty());
  EXPECT_EQ(ask(names, "www.example.org").code, DnsCode::kNxDomain);
}

TEST_F(SandboxNamesTest, NothingIsDecidedOnceClosed) {
  addresses["www.example.org"] = {ip("93.184.216.34")};
  const auto names = make(allowing({"*.example.org"}));
  auto task = SandboxNames::resolve_and_reply(names, query("www.example.org"));
  auto check = SandboxNames::confirm(names, host("www.example.org"), ip("93.184.216.34"));
  names->close();
  EXPECT_EQ(finish(io, std::move(task)).code, DnsCode::kServFail);
  EXPECT_FALSE(finish(io, std::move(check)).allowed);
  EXPECT_EQ(names->reply_now(query("www.example.org"))->code, DnsCode::kServFail);
  EXPECT_TRUE(decisions.empty());
}

}  // namespace
}  // namespace glovebox::gateway
