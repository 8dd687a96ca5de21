#include "wire/network/net_refusals.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::wire {
namespace {

namespace json = boost::json;

NetDecision denied(std::string name, std::string address, std::uint16_t port, std::string rule) {
  NetDecision one;
  one.what = port == 0 ? NetDecision::What::kResolve : NetDecision::What::kConnect;
  one.name = std::move(name);
  one.address = std::move(address);
  one.port = port;
  one.rule = std::move(rule);
  one.last_ms = 1'000;
  return one;
}

NetRefusal refusal(const NetDecision& decision) {
  const auto all = refusals_of({decision});
  return all.size() == 1 ? all[0] : NetRefusal{};
}

TEST(NetRefusals, SayWhichNetWouldAllowThem) {
  const NetRefusal name = refusal(denied("example.com", "", 0, "not in the policy"));
  EXPECT_EQ(name.allow, "example.com");
  EXPECT_EQ(name.message, "example.com is not in the policy; --net example.com allows it");
  EXPECT_EQ(refusal(denied("example.com", "192.0.2.1", 80, "not in the policy")).allow,
            "example.com:80");
  EXPECT_EQ(refusal(denied("", "192.0.2.1", 22, "not in the policy")).allow, "192.0.2.1:22");
  EXPECT_EQ(refusal(denied("", "2001:db8::1", 22, "not in the policy")).allow, "[2001:db8::1]:22");
}

TEST(NetRefusals, SayWhenNoNetWould) {
  for (const char* rule : {"deny *.example.com", "reserved: loopback", "ceiling: base https-only",
                           "ClientHello: not TLS", "no server name"}) {
    const NetRefusal one = refusal(denied("a.example.com", "192.0.2.1", 443, rule));
    EXPECT_EQ(one.allow, "") << rule;
    EXPECT_NE(one.message.find("a.example.com:443 "), std::string::npos) << rule;
  }
}

TEST(NetRefusals, LeaveOutWhatNoRuleDecided) {
  for (const char* rule : {"budget: connections", "rate: names", "no answer"}) {
    EXPECT_TRUE(refusals_of({denied("a", "", 0, rule)}).empty()) << rule;
  }
  NetDecision allowed = denied("a", "", 0, "not in the policy");
  allowed.allowed = true;
  EXPECT_TRUE(refusals_of({allowed}).empty());
}

TEST(NetRefusals, AreBoundedAndOnePerTarget) {
  std::vector<NetDecision> many;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "n" + std::to_string(i / 2) + ".example";
    many.push_back(denied(name, i % 2 == 0 ? "" : "192.0.2.1", 0, "not in the policy"));
    many.back().last_ms = i;
  }
  const auto refusals = refusals_of(many);
  ASSERT_EQ(refusals.size(), kMaxRefusals);
  EXPECT_EQ(refusals[1].name, "n1.example");
  EXPECT_EQ(refusals[1].last_ms, 3);
  std::vector<std::string> messages;
  for (const NetRefusal& one : refusals) messages.push_back(one.message);
  const std::string line = refusals_line(messages);
  EXPECT_TRUE(line.starts_with("network: n0.example is not in the policy")) << line;
  EXPECT_TRUE(line.ends_with("(and 13 more)")) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(refusals_line({}), "");
}

TEST(NetRefusals, AFewAreAllSaid) {
  EXPECT_EQ(refusals_line({"a", "b", "c"}), "network: a; b; c");
  EXPECT_EQ(refusals_line({"a", "b", "c", "d"}), "network: a; b; c (and 1 more)");
}

TEST(NetRefusals, HostileNamesStayJsonAndOneLine) {
  const auto refusals = refusals_of({denied("a\xff\n\x1b[2J", "", 0, "not in the policy")});
  const json::array back = json::parse(json::serialize(refusals_json(refusals))).as_array();
  EXPECT_TRUE(back.at(0).at("port").is_null());
  EXPECT_EQ(back.at(0).at("last_at").as_string(), "1970-01-01T00:00:01.000Z");
  const std::string line = refusals_line({refusals[0].message});
  EXPECT_EQ(line.find_first_of("\n\x1b"), std::string::npos);
}

TEST(NetworkErrorDetector, FindsAnErrorAcrossPieces) {
  NetworkErrorDetector detector;
  detector.add("urlopen error [Errno -3] Temporary fail");
  EXPECT_FALSE(detector.found());
  detector.add("ure in name resolution>");
  EXPECT_TRUE(detector.found());
  NetworkErrorDetector others;
  others.add(std::string(100'000, 'x'));
  EXPECT_FALSE(others.found());
}

}  // namespace
}  // namespace glovebox::wire
