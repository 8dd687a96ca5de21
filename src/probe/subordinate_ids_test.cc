#include "probe/subordinate_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace glovebox::probe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr AccountId kAnn{"ann", 1000};

std::string why_not(std::string_view text, std::vector<IdRange> taken = {}) {
  const auto range = subordinate_range(text, kAnn, taken);
  EXPECT_FALSE(range);
  return range ? std::string() : range.error().message();
}

TEST(SubordinateIds, AreFoundByNameAndByNumber) {
  const IdRange expected{100'000, 65'536};
  EXPECT_EQ(subordinate_range("bob:1:2\nann:100000:65536\n", kAnn, {}).value(), expected);
  EXPECT_EQ(subordinate_range("1000:100000:65536", kAnn, {}).value(), expected);
  EXPECT_EQ(subordinate_range("1000:100000:65536", {"", 1000}, {}).value(), expected);
}

TEST(SubordinateIds, TheWidestRangeIsTaken) {
  const std::string_view text = "ann:100000:10\nann:200000:70000\nann:300000:70000\n";
  EXPECT_EQ(subordinate_range(text, kAnn, {}).value(), (IdRange{200'000, 70'000}));
}

TEST(SubordinateIds, AUserWithoutALineHasNone) {
  const auto range = subordinate_range("# ann:100000:65536\nanna:100000:65536\n", kAnn, {});
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().code(), Errc::kNotFound);
  EXPECT_FALSE(subordinate_range("", {"", 1000}, {}));
  EXPECT_FALSE(subordinate_range(":100000:65536", {"", 1000}, {})) << "no name is no user";
}

TEST(SubordinateIds, MalformedLinesAreNone) {
  for (const std::string_view text :
       {"ann:100000", "ann:100000:0", "ann:100000:-5", "ann:x:65536", "ann:100000:65536:1",
        "ann:-1:65536", "ann:100000:99999999999999999999", "ann:4294967296:1"}) {
    const auto range = subordinate_range(text, kAnn, {});
    ASSERT_FALSE(range) << text;
    EXPECT_EQ(range.error().code(), Errc::kNotFound) << text;
  }
}

TEST(SubordinateIds, ARangeBeyondTheLastIdIsRefused) {
  EXPECT_THAT(why_not("ann:4294960000:65536"), HasSubstr("beyond the last id"));
  EXPECT_THAT(why_not("ann:4294967294:1"), HasSubstr("beyond the last id"));
  EXPECT_TRUE(subordinate_range("ann:4294963198:4096", kAnn, {}));
}

TEST(SubordinateIds, IdsOfAccountsAreRefused) {
  EXPECT_THAT(why_not("ann:0:65536"), HasSubstr("belong to accounts"));
  EXPECT_THAT(why_not("ann:65535:2"), HasSubstr("belong to accounts"));
  EXPECT_THAT(why_not("ann:100000:65536", {{165'535, 1}}),
              HasSubstr("165535 belongs to an account"));
  EXPECT_TRUE(subordinate_range("ann:100000:65536", kAnn, std::vector<IdRange>{{165'536, 1}}));
}

TEST(SubordinateIds, IdsOfAnotherUserAreRefused) {
  EXPECT_THAT(why_not("ann:100000:65536\nbob:165535:1\n"), HasSubstr("165535 to 165535 of bob"));
  EXPECT_THAT(why_not("bob:90000:10001\nann:100000:65536\n"), HasSubstr("of bob"));
  EXPECT_TRUE(subordinate_range("bob:90000:10000\nann:100000:65536\nbob:165536:9\n", kAnn, {}));
}

TEST(SubordinateIds, IdsOfRootsSandboxesAreRefused) {
  EXPECT_THAT(why_not("ann:100000:65536", {{165'000, 1000}}), HasSubstr("a launcher of root"));
}

TEST(SubordinateIds, ARangeWithoutAWholeSliceIsRefused) {
  EXPECT_THAT(why_not("ann:100000:4094"), HasSubstr("fewer than 4095"));
  EXPECT_TRUE(subordinate_range("ann:100000:4095", kAnn, {}));
}

TEST(SubordinateIds, ANarrowerRangeStandsInForOneThatIsRefused) {
  const std::string_view text = "ann:100000:65536\nann:300000:5000\nbob:110000:1\n";
  EXPECT_EQ(subordinate_range(text, kAnn, {}).value(), (IdRange{300'000, 5'000}));
}

TEST(SubordinateIds, AFreeRangeIsBehindAllOthers) {
  EXPECT_EQ(free_subordinate_range("", ""), (IdRange{131'072, 65'536}));
  EXPECT_EQ(free_subordinate_range("ann:100000:65536\n", ""), (IdRange{196'608, 65'536}));
  EXPECT_EQ(free_subordinate_range("ann:131072:65536\n", "bob:200000:1\n"),
            (IdRange{262'144, 65'536}));
  const IdRange beside = free_subordinate_range("corp:2000000000:65536\n", "");
  EXPECT_EQ(beside, (IdRange{131'072, 65'536})) << "a directory service's are far up";
}

SubordinateFacts with_mappers() {
  SubordinateFacts facts;
  facts.has_mappers = true;
  facts.user = "ann";
  facts.free_range = {131'072, 65'536};
  return facts;
}

Finding explained(const SubordinateFacts& facts) {
  Findings findings;
  explain(facts, findings);
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding{} : findings[0];
}

TEST(SubordinateIds, AUserWhoHasNoneReadsWhatToType) {
  SubordinateFacts none = with_mappers();
  none.has_mappers = false;
  none.refusal = "/etc/subuid: it gives no ids to this user";
  const Finding finding = explained(none);
  EXPECT_EQ(finding.state, State::kWarn);
  EXPECT_EQ(finding.fix,
            "sudo apt install uidmap && sudo usermod --add-subuids 131072-196607 --add-subgids "
            "131072-196607 ann");
  none.has_mappers = true;
  EXPECT_EQ(explained(none).fix,
            "sudo usermod --add-subuids 131072-196607 --add-subgids 131072-196607 ann");
}

TEST(SubordinateIds, OnlyIdsThatCouldBeMappedAreOk) {
  SubordinateFacts some = with_mappers();
  some.uids = {100'000, 65'536};
  EXPECT_EQ(explained(some).state, State::kOk);
  EXPECT_THAT(explained(some).detail, HasSubstr("100000 to 165535"));
  EXPECT_THAT(explained(some).detail, Not(HasSubstr("dpkg")));
  some.user_xattrs = Attempt::failed("set user xattr", EOPNOTSUPP);
  EXPECT_EQ(explained(some).state, State::kOk);
  EXPECT_THAT(explained(some).detail, HasSubstr("dpkg in them needs Linux 6.6"));
  some.mapped = Attempt::failed("/usr/bin/newuidmap failed: write to uid_map failed", -1);
  EXPECT_EQ(explained(some).state, State::kWarn);
  EXPECT_THAT(explained(some).detail, HasSubstr("write to uid_map failed"));
  some.has_mappers = false;
  EXPECT_EQ(explained(some).fix, "sudo apt install uidmap");
}

TEST(SubordinateIds, RootNeedsNone) {
  Findings findings;
  SubordinateFacts root;
  root.is_root = true;
  explain(root, findings);
  EXPECT_TRUE(findings.empty());
}

}  // namespace
}  // namespace glovebox::probe
