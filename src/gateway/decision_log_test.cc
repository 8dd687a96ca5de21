#include "gateway/decision_log.h"

#include <gtest/gtest.h>

namespace glovebox::gateway {
namespace {

using wire::NetDecision;

NetDecision decision(bool allowed, std::string name, std::uint16_t port = 443) {
  NetDecision made;
  made.allowed = allowed;
  made.name = std::move(name);
  made.address = "192.0.2.1";
  made.port = port;
  made.rule = "a rule";
  return made;
}

TEST(DecisionLog, TheSameKindIsOneEntryThatCounts) {
  DecisionLog log;
  int firsts = 0;
  log.on_first = [&](const NetDecision&) { ++firsts; };
  const auto first = log.note(decision(true, "a.example"), 1000);
  const auto again = log.note(decision(true, "a.example"), 2000);
  EXPECT_EQ(first, again);
  ASSERT_EQ(log.decisions().size(), 1u);
  EXPECT_EQ(log.decisions()[0].count, 2u);
  EXPECT_EQ(log.decisions()[0].first_ms, 1000);
  EXPECT_EQ(log.decisions()[0].last_ms, 2000);
  EXPECT_EQ(firsts, 1);
}

TEST(DecisionLog, WhatDiffersIsAnother) {
  DecisionLog log;
  NetDecision other_rule = decision(true, "a.example");
  other_rule.rule = "another rule";
  NetDecision other_kind = decision(true, "a.example");
  other_kind.what = NetDecision::What::kResolve;
  for (const NetDecision& one :
       {decision(true, "a.example"), decision(false, "a.example"), decision(true, "b.example"),
        decision(true, "a.example", 80), other_rule, other_kind}) {
    log.note(one, 1);
  }
  EXPECT_EQ(log.decisions().size(), 6u);
}

TEST(DecisionLog, BytesAreAddedWhereTheyBelong) {
  DecisionLog log;
  const auto index = log.note(decision(true, "a.example"), 1);
  log.note(decision(true, "b.example"), 1);
  log.add_bytes(index, 3, 5);
  log.add_bytes(index, 1, 1);
  log.add_bytes(std::nullopt, 100, 100);
  EXPECT_EQ(log.decisions()[0].bytes_out, 4u);
  EXPECT_EQ(log.decisions()[0].bytes_in, 6u);
  EXPECT_EQ(log.decisions()[1].bytes_out, 0u);
}

// A sandbox that tries thousands of names cannot hide what it was allowed afterwards.
TEST(DecisionLog, DenialsLeaveRoomForWhatIsAllowed) {
  DecisionLog log;
  int firsts = 0;
  log.on_first = [&](const NetDecision&) { ++firsts; };
  for (int i = 0; i < 1000; ++i) log.note(decision(false, "n" + std::to_string(i)), 1);
  EXPECT_EQ(log.decisions().size(), DecisionLog::kMaxDenied);
  EXPECT_EQ(log.left_out(), 1000 - DecisionLog::kMaxDenied);
  EXPECT_TRUE(log.note(decision(true, "sink.example"), 1));
  for (int i = 0; i < 1000; ++i) log.note(decision(true, "a" + std::to_string(i)), 1);
  EXPECT_EQ(log.decisions().size(), wire::kMaxDecisions);
  EXPECT_EQ(firsts, static_cast<int>(wire::kMaxDecisions));
  // Those that are known still count.
  log.note(decision(true, "sink.example"), 2);
  EXPECT_EQ(log.decisions()[DecisionLog::kMaxDenied].count, 2u);
}

}  // namespace
}  // namespace glovebox::gateway
