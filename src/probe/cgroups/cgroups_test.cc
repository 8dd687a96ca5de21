#include "probe/cgroups/cgroups.h"

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

CgroupFacts user_without_cgroups(CgroupLayout layout) {
  CgroupFacts facts;
  facts.layout = std::move(layout);
  facts.user = "alice";
  facts.own.v2 = "/no/such/cgroup/user.slice/user-1000.slice/session-2.scope";
  facts.controllers = {{.name = "memory",
                        .where = facts.own.v2,
                        .attempt = Attempt::failed("create a cgroup", EACCES)}};
  facts.freeze = facts.kill = Attempt::failed("create a cgroup", EACCES);
  return facts;
}

TEST(Cgroups, TellsAnOrdinaryUserOnV2HowToGetDelegation) {
  Findings findings;
  explain(user_without_cgroups(pure_v2()), findings);
  ASSERT_NE(find(findings, "memory limit"), nullptr);
  EXPECT_EQ(find(findings, "memory limit")->state, State::kMissing);
  EXPECT_THAT(find(findings, "memory limit")->fix, HasSubstr("delegation"));
  ASSERT_NE(find(findings, "delegation"), nullptr);
  EXPECT_EQ(find(findings, "delegation")->state, State::kWarn);
  EXPECT_THAT(find(findings, "delegation")->fix, HasSubstr("enable-linger alice &&"));
  EXPECT_THAT(find(findings, "delegation")->detail, HasSubstr("not delegated"));
  EXPECT_THAT(find(findings, "delegation")->detail, HasSubstr("per process"));
}

TEST(Cgroups, TellsAUserWhoseSystemdLacksAControllerWhereToAddIt) {
  CgroupFacts facts = user_without_cgroups(pure_v2());
  facts.user_systemd = true;
  facts.scope_controllers = "memory pids";
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "delegation"), nullptr);
  EXPECT_THAT(find(findings, "delegation")->detail, HasSubstr("memory pids"));
  EXPECT_THAT(find(findings, "delegation")->fix, HasSubstr("Delegate=cpu memory pids"));
}

TEST(Cgroups, TellsAnOrdinaryUserOnV1WhichCgroupsRootCanGive) {
  CgroupLayout layout;
  layout.v1_mounts = {{"memory", "/sys/fs/cgroup/memory"}, {"freezer", "/sys/fs/cgroup/freezer"}};
  Findings findings;
  explain(user_without_cgroups(layout), findings);
  ASSERT_NE(find(findings, "delegation"), nullptr);
  EXPECT_THAT(find(findings, "delegation")->fix, HasSubstr("/sys/fs/cgroup/memory /sys"));
  EXPECT_THAT(find(findings, "delegation")->fix,
              HasSubstr("chown -R alice \\$g/alice; echo $$ > \\$g/alice/cgroup.procs"));
}

TEST(Cgroups, AUserWithAllLimitsNeedsNoFix) {
  CgroupFacts facts;
  facts.layout.v1_mounts = {{"memory", "/sys/fs/cgroup/memory"}};
  facts.controllers = {{.name = "memory"}, {.name = "pids"}, {.name = "cpu"}};
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "delegation"), nullptr);
  EXPECT_EQ(find(findings, "delegation")->state, State::kOk);
  EXPECT_EQ(find(findings, "delegation")->fix, "");
}

TEST(Cgroups, WithoutThePidsControllerAnRlimitStandsIn) {
  CgroupFacts facts;
  facts.controllers = {{.name = "memory"}, {.name = "pids"}};
  for (ControllerTrial& trial : facts.controllers) {
    trial.attempt = Attempt::failed("create a cgroup", EACCES);
  }
  Findings findings;
  explain(facts, findings);
  EXPECT_EQ(find(findings, "memory limit")->state, State::kMissing);
  EXPECT_EQ(find(findings, "pids limit")->state, State::kWarn);
  EXPECT_THAT(find(findings, "pids limit")->detail, HasSubstr("RLIMIT_NPROC"));
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
