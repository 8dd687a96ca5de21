#include "net/reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// As many rules as asked, each with a text of exactly `bytes`.
std::vector<NetRule> rules(std::size_t count, std::size_t bytes) {
  std::vector<NetRule> list;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = "n" + std::to_string(1000 + i);
    while (text.size() < bytes) text += text.size() % 60 == 59 ? '.' : 'a';
    list.push_back(NetRule::parse(text).value());
    EXPECT_EQ(list.back().text().size(), bytes);
  }
  return list;
}

Result<> check(const NetPolicy& asked) { return check_reach(asked, NetCeiling{}); }

TEST(CheckReach, AListHasAtMostSoManyRules) {
  NetPolicy asked;
  asked.allow = rules(kMaxRules, 10);
  asked.deny = rules(kMaxRules, 10);
  EXPECT_TRUE(check(asked));
  asked.deny = rules(kMaxRules + 1, 10);
  const auto refused = check(asked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kInvalidArgument);
  EXPECT_THAT(refused.error().message(), HasSubstr(std::to_string(kMaxRules)));
  asked.deny.clear();
  asked.allow = rules(kMaxRules + 1, 10);
  EXPECT_FALSE(check(asked));
}

TEST(CheckReach, RulesHaveAtMost64KilobytesInBothLists) {
  NetPolicy asked;
  asked.allow = rules(256, 128);
  asked.deny = rules(131, 250);
  constexpr std::size_t kLeft = 64 * 1024 - 256 * 128 - 131 * 250;
  asked.deny.push_back(rules(1, kLeft).front());
  EXPECT_TRUE(check(asked));
  asked.deny.back() = rules(1, kLeft + 1).front();
  EXPECT_FALSE(check(asked));
}

TEST(CheckReach, SaysWhatTheAdministratorAllowsAtMost) {
  NetPolicy asked{.base = NetBase::kAll};
  NetCeiling ceiling{.policy = {.base = NetBase::kHttpsOnly}, .opened = {}};
  const auto refused = check_reach(asked, ceiling);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kPolicy);
  EXPECT_THAT(refused.error().message(), HasSubstr("allows at most \"https-only\" (net.ceiling"));
}

TEST(CheckReach, CutsALongCeilingInTheMessage) {
  const NetPolicy asked{.base = NetBase::kAll};
  // canonical_text() of one rule is {"allow":["TEXT"]} and a few more bytes.
  const auto message = [&](std::size_t bytes) {
    NetCeiling ceiling{.policy = {.base = NetBase::kNone}, .opened = {}};
    ceiling.policy.allow = rules(1, 100);
    ceiling.policy.allow.push_back(rules(1, 10).front());
    const std::size_t around = canonical_text(ceiling.policy).size() - 10;
    ceiling.policy.allow.back() = rules(1, bytes - around).front();
    EXPECT_EQ(canonical_text(ceiling.policy).size(), bytes);
    return check_reach(asked, ceiling).error().message();
  };
  EXPECT_THAT(message(300), Not(HasSubstr("...")));
  EXPECT_THAT(message(301), HasSubstr("..."));
}

TEST(AllAllowed, IsTheCeilingsOwnReach) {
  NetCeiling ceiling{.policy = {.base = NetBase::kHttpsOnly}, .opened = {}};
  ceiling.policy.allow = rules(1, 10);
  EXPECT_EQ(all_allowed(ceiling).base, NetBase::kHttpsOnly);
  EXPECT_EQ(all_allowed(ceiling).allow, ceiling.policy.allow);
  EXPECT_TRUE(check_reach(all_allowed(ceiling), ceiling));
  ceiling.policy.base = NetBase::kAll;  // which already allows what the rules do
  EXPECT_TRUE(all_allowed(ceiling).allow.empty());
  EXPECT_TRUE(check_reach(all_allowed(ceiling), ceiling));
}

}  // namespace
}  // namespace glovebox::net
