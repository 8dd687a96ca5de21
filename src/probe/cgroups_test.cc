#include "probe/cgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

using ::testing::HasSubstr;

const Finding* find(const Findings& findings, std::string_view name) {
  for (const Finding& finding : findings) {
    if (finding.name == name) return &finding;
  }
  return nullptr;
}

CgroupLayout pure_v2() {
  CgroupLayout layout;
  layout.v2_mount = "/sys/fs/cgroup";
  layout.v2_has_controllers = true;
  return layout;
}

TEST(Cgroups, FindsTheV2GroupOfThisProcess) {
  EXPECT_EQ(v2_group_of("0::/user.slice/user-1000.slice/session-2.scope\n"),
            "/user.slice/user-1000.slice/session-2.scope");
  EXPECT_EQ(v2_group_of("9:name=systemd:/x\n4:memory:/y\n0::/\n"), "/");
  EXPECT_EQ(v2_group_of("4:memory:/y\n"), std::nullopt);
  EXPECT_EQ(v2_group_of(""), std::nullopt);
}

TEST(Cgroups, AControllerIsAWholeWord) {
  EXPECT_TRUE(lists_controller("cpuset cpu io memory hugetlb pids\n", "cpu"));
  EXPECT_FALSE(lists_controller("cpuset io\n", "cpu"));
}

TEST(Cgroups, AllLimitsMeansEachOfThem) {
  CgroupFacts facts;
  EXPECT_FALSE(facts.all_limits());
  facts.controllers = {{.name = "memory"}, {.name = "pids"}};
  EXPECT_TRUE(facts.all_limits());
  facts.controllers[1].attempt = Attempt::failed("create a cgroup", EACCES);
  EXPECT_FALSE(facts.all_limits());
}

TEST(Cgroups, TellsAnOrdinaryUserOnV2OfDelegation) {
  CgroupFacts facts;
  facts.layout = pure_v2();
  facts.own_group = "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope";
  facts.controllers = {{.name = "memory",
                        .where = facts.own_group,
                        .attempt = Attempt::failed("create a cgroup", EACCES)}};
  facts.freeze = facts.kill = Attempt::failed("create a cgroup", EACCES);
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "memory limit"), nullptr);
  EXPECT_EQ(find(findings, "memory limit")->state, State::kMissing);
  EXPECT_THAT(find(findings, "memory limit")->fix, HasSubstr("run as root"));
  ASSERT_NE(find(findings, "delegation"), nullptr);
  EXPECT_THAT(find(findings, "delegation")->fix, HasSubstr("Delegate=yes"));
  EXPECT_THAT(find(findings, "delegation")->detail, HasSubstr("not delegated"));
}

TEST(Cgroups, AUserWithoutAV2GroupIsNotSentToDelegation) {
  CgroupFacts facts;
  facts.layout.v1_mounts = {{"memory", "/sys/fs/cgroup/memory"}};
  facts.controllers = {{.name = "memory",
                        .where = "/sys/fs/cgroup/memory",
                        .attempt = Attempt::failed("create a cgroup", EACCES)}};
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "memory limit"), nullptr);
  EXPECT_THAT(find(findings, "memory limit")->fix, HasSubstr("run as root"));
  ASSERT_NE(find(findings, "delegation"), nullptr);
  EXPECT_EQ(find(findings, "delegation")->fix, "");
}

TEST(Cgroups, ReportsAHostWithoutAnyHierarchy) {
  CgroupFacts facts;
  facts.is_root = true;
  facts.freeze = facts.kill = Attempt::failed("no v2 tree", -1);
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "layout"), nullptr);
  EXPECT_EQ(find(findings, "layout")->state, State::kMissing);
}

TEST(Cgroups, NamesTheKernelThatHasKill) {
  CgroupFacts facts;
  facts.layout = pure_v2();
  facts.is_root = true;
  facts.kill = Attempt::failed("write cgroup.kill", ENOENT);
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "freeze and kill"), nullptr);
  EXPECT_EQ(find(findings, "freeze and kill")->state, State::kWarn);
  EXPECT_THAT(find(findings, "freeze and kill")->fix, HasSubstr("5.14"));
}

}  // namespace
}  // namespace glovebox::probe
