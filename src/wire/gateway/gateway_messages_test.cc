// Every message survives a round trip, and no cut, stretched or flipped one is taken for another.
#include "wire/gateway/gateway_messages.h"

#include <gtest/gtest.h>

#include "wire/byte_codec.h"
#include "wire/testing/round_trips.h"

namespace glovebox::wire {
namespace {

net::NetRule rule(std::string_view text) { return net::NetRule::parse(text).value(); }

net::NetPolicy some_policy() {
  net::NetPolicy policy;
  policy.base = net::NetBase::kHttpsOnly;
  policy.allow = {rule("pypi.org:443"), rule("*.example.com:8000-8100"), rule("192.0.2.0/24:22")};
  policy.deny = {rule("[2001:db8::/32]:443"), rule("*")};
  policy.allow_wins = true;
  policy.budgets.bytes_out = 1u << 30;
  policy.budgets.names = 0;
  return policy;
}

NetDecision some_decision() {
  return {.what = NetDecision::What::kConnect,
          .allowed = true,
          .name = "pypi.org",
          .address = "192.0.2.7",
          .port = 443,
          .rule = "allow pypi.org:443",
          .count = 3,
          .bytes_out = 5,
          .bytes_in = 7,
          .first_ms = 1'700'000'000'000,
          .last_ms = 1'700'000'000'001};
}

std::vector<GatewayRequest> requests() {
  net::NetPolicy connections;
  connections.budgets.connections = 12;
  return {OpenNetwork{1, SandboxId::make(), "default", some_policy()},
          OpenNetwork{2, SandboxId::make(), "", connections},
          OpenNetwork{8, SandboxId::make(), "build", some_policy(), true},
          ChangePolicy{3, SandboxId::make(), some_policy()},
          ChangePolicy{4, SandboxId::make(), net::NetPolicy{}},
          ReadNetwork{5, SandboxId::make(), true},
          ReadNetwork{6, SandboxId::make(), false},
          ListNetworks{7}};
}

std::vector<GatewayReply> replies() {
  NetDecision denied;
  denied.what = NetDecision::What::kResolve;
  denied.name = "evil.example";
  denied.rule = "not in the policy";
  const NetTotals totals{.bytes_out = 1,
                         .bytes_in = 2,
                         .connections = 3,
                         .denied = 4,
                         .names = 5,
                         .open = 6,
                         .spent = static_cast<std::uint8_t>(NetBudget::kNames)};
  return {GatewayDone{1},
          NetworkRefused{2, Errc::kPolicy, "the ceiling"},
          NetworkReport{3, SandboxId::make(), totals, {some_decision(), denied}, 9},
          NetworkReport{4, SandboxId::make(), NetTotals{}, {}, 0},
          NetworksListed{5, {SandboxId::make(), SandboxId::make()}},
          NetworksListed{6, {}},
          NetworkDecided{SandboxId::make(), some_decision()}};
}

TEST(GatewayMessages, RoundTripAndTakeNothingElse) {
  expect_round_trips(requests(), decode_gateway_request);
  expect_round_trips(replies(), decode_gateway_reply);
}

TEST(GatewayMessages, HaveOneSpelling) {
  expect_one_spelling(requests(), decode_gateway_request);
  std::vector<GatewayReply> told = replies();
  std::erase_if(told, [](const GatewayReply& reply) {  // whose code is ours or "internal"
    return std::holds_alternative<NetworkRefused>(reply);
  });
  expect_one_spelling(told, decode_gateway_reply);
}

TEST(GatewayMessages, WhatIsNotSaidIsTheStricterWay) {
  EXPECT_FALSE(NetDecision{}.allowed);
  EXPECT_FALSE((OpenNetwork{1, SandboxId::make(), "default", {}}.is_build));
  EXPECT_FALSE((ReadNetwork{1, SandboxId::make()}.close));
}

TEST(GatewayMessages, TakeEverythingUpToItsBound) {
  ChangePolicy change{1, SandboxId::make(), {}};
  for (const net::NetBase base : {net::NetBase::kNone, net::NetBase::kAll}) {
    change.policy.base = base;
    EXPECT_EQ(decode_gateway_request(encode(GatewayRequest(change))), GatewayRequest(change));
  }
  change.policy.base = static_cast<net::NetBase>(3);
  EXPECT_FALSE(decode_gateway_request(encode(GatewayRequest(change))));
  change.policy.base = net::NetBase::kNone;
  change.policy.budgets = {.bytes_out = 1, .connections = 2, .names = 3};
  EXPECT_EQ(decode_gateway_request(encode(GatewayRequest(change))), GatewayRequest(change));

  NetworkDecided decided{SandboxId::make(), some_decision()};
  decided.decision.rule = " ~";
  decided.decision.first_ms = 0;
  decided.decision.last_ms = INT64_MAX;
  EXPECT_EQ(decode_gateway_reply(encode(GatewayReply(decided))), GatewayReply(decided));
  NetworkReport report{1, SandboxId::make(), {.spent = 7}, {}, 0};
  EXPECT_EQ(decode_gateway_reply(encode(GatewayReply(report))), GatewayReply(report));
  report.totals.spent = 8;
  EXPECT_FALSE(decode_gateway_reply(encode(GatewayReply(report))));
  NetworksListed listed{1, std::vector<SandboxId>(kMaxNetworks, SandboxId::make())};
  EXPECT_EQ(decode_gateway_reply(encode(GatewayReply(listed))), GatewayReply(listed));
  listed.ids.push_back(SandboxId::make());
  EXPECT_FALSE(decode_gateway_reply(encode(GatewayReply(listed))));
  for (unsigned code = 1; code <= static_cast<unsigned>(Errc::kInternal); ++code) {
    const GatewayReply refused(NetworkRefused{2, static_cast<Errc>(code), "why"});
    EXPECT_EQ(decode_gateway_reply(encode(refused)), refused);
  }
}

TEST(GatewayMessages, TwoFullListsOfTheLongestRulesFit) {
  const std::string label(63, 'a');
  const std::string name = label + "." + label + "." + label + "." + std::string(61, 'b');
  const net::NetRule longest = rule("*." + name.substr(2) + ":10000-65534");
  OpenNetwork open{1, SandboxId::make(), "default", {}};
  open.policy.allow.assign(net::kMaxRules, longest);
  open.policy.deny.assign(net::kMaxRules, longest);
  const auto bytes = encode(GatewayRequest(open));
  EXPECT_LE(bytes.size(), kMaxGatewayMessage);
  const auto back = decode_gateway_request(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, GatewayRequest(open));
}

TEST(GatewayMessages, OneRuleMoreIsRefused) {
  ChangePolicy change{1, SandboxId::make(), {}};
  change.policy.allow.assign(net::kMaxRules + 1, rule("a.example"));
  EXPECT_FALSE(decode_gateway_request(encode(GatewayRequest(change))));
}

TEST(GatewayMessages, AFullReportFits) {
  NetworkReport report{1, SandboxId::make(), {}, {}, 0};
  NetDecision decision = some_decision();
  decision.name.assign(253, 'n');
  decision.address.assign(45, 'f');
  decision.rule.assign(kMaxRuleText, 'r');
  report.decisions.assign(kMaxDecisions, decision);
  const auto bytes = encode(GatewayReply(report));
  EXPECT_LE(bytes.size(), kMaxGatewayMessage);
  ASSERT_TRUE(decode_gateway_reply(bytes));
  report.decisions.push_back(decision);
  EXPECT_FALSE(decode_gateway_reply(encode(GatewayReply(report))));
}

TEST(GatewayMessages, ALongRuleIsCutNotLost) {
  NetworkDecided decided{SandboxId::make(), some_decision()};
  decided.decision.rule.assign(kMaxRuleText + 100, 'r');
  const auto back = decode_gateway_reply(encode(GatewayReply(decided)));
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<NetworkDecided>(*back).decision.rule, std::string(kMaxRuleText, 'r'));
}

// The server writes these into logs, events and JSON.
TEST(GatewayMessages, ADecisionHoldsPrintableCharactersOnly) {
  for (const std::string& word : {std::string("a\nb"), std::string("a\0b", 3),
                                  std::string("\x1b[2J"), std::string("\xc3\xa9")}) {
    NetworkDecided decided{SandboxId::make(), some_decision()};
    decided.decision.name = word;
    EXPECT_FALSE(decode_gateway_reply(encode(GatewayReply(decided))));
    decided = {decided.id, some_decision()};
    decided.decision.rule = word;
    EXPECT_FALSE(decode_gateway_reply(encode(GatewayReply(decided))));
    decided = {decided.id, some_decision()};
    decided.decision.address = word;
    EXPECT_FALSE(decode_gateway_reply(encode(GatewayReply(decided))));
  }
}

// What a writer that lies could send: a policy that our own types cannot hold.
TEST(GatewayMessages, ARuleThatDoesNotParseIsRefused) {
  ByteWriter writer;
  writer.number(kGatewayProtocol);
  writer.number(std::uint8_t{2});   // ChangePolicy
  writer.number(std::uint32_t{1});  // seq
  writer.text(SandboxId::make().str());
  writer.number(std::uint8_t{0});  // base
  writer.texts({"10.0.0.1/8"});    // bits behind the prefix
  writer.texts({});
  writer.number(std::uint8_t{0});
  writer.number(std::uint8_t{0});
  EXPECT_FALSE(decode_gateway_request(writer.take()));
}

}  // namespace
}  // namespace glovebox::wire
