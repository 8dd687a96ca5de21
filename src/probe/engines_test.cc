#include "probe/engines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

using ::testing::HasSubstr;

using Strength = EngineOutlook::Strength;

// Root on a good host: every attempt is made of "worked".
HostFacts good_host() {
  HostFacts host;
  host.namespaces.trials = {{"mount", {}}, {"pid", {}}, {"net", {}},
                            {"ipc", {}},   {"uts", {}}, {"cgroup", {}}};
  host.cgroups.controllers = {{.name = "memory"}, {.name = "pids"}, {.name = "cpu"}};
  host.landlock.abi = 7;
  host.rehearsal_way = Way::kDirect;
  return host;
}

EngineOutlook jail_on(const HostFacts& host) { return judge_engines(host).at(0); }
EngineOutlook process_on(const HostFacts& host) { return judge_engines(host).at(1); }

TEST(Engines, AGoodHostHasTheFullJail) {
  EXPECT_EQ(jail_on(good_host()).name, "jail");
  EXPECT_EQ(jail_on(good_host()).strength, Strength::kFull) << jail_on(good_host()).why;
}

TEST(Engines, RootlessIsPartial) {
  HostFacts host = good_host();
  host.rehearsal_way = Way::kUserNamespace;
  host.user_namespaces.uid_slice = Attempt::failed("write uid_map", EPERM);
  EXPECT_EQ(jail_on(host).strength, Strength::kPartial);
  EXPECT_THAT(jail_on(host).why, HasSubstr("own uid slice"));
}

TEST(Engines, EachMissingLimitMakesItPartialAndIsNamed) {
  for (const std::size_t i : {0, 2}) {
    HostFacts host = good_host();
    host.cgroups.controllers[i].attempt = Attempt::failed("create a cgroup", EACCES);
    EXPECT_EQ(jail_on(host).strength, Strength::kPartial);
    EXPECT_THAT(jail_on(host).why, HasSubstr(host.cgroups.controllers[i].name + " limit"));
  }
}

TEST(Engines, WithoutThePidsControllerAnRlimitBoundsProcesses) {
  HostFacts host = good_host();
  host.cgroups.controllers[1].attempt = Attempt::failed("create a cgroup", EACCES);
  EXPECT_EQ(jail_on(host).strength, Strength::kFull) << jail_on(host).why;
}

TEST(Engines, LandlockIsReportedAndDoesNotLowerTheGrade) {
  HostFacts host = good_host();
  host.landlock = {.abi = 0, .error = ENOSYS};
  EXPECT_EQ(jail_on(host).strength, Strength::kFull);
  EXPECT_THAT(jail_on(host).why, HasSubstr("no Landlock"));
}

TEST(Engines, WithoutTheRehearsalThereIsNoJail) {
  HostFacts host = good_host();
  host.rehearsal = Attempt::failed("pivot into the root", EPERM);
  EXPECT_FALSE(jail_on(host).usable());
  EXPECT_THAT(jail_on(host).why, HasSubstr("pivot into the root: Operation not permitted"));
  EXPECT_TRUE(process_on(host).usable());
}

TEST(Engines, ProcessNeedsSeccompAndNeverCallsItselfABoundary) {
  HostFacts host = good_host();
  EXPECT_THAT(process_on(host).why, HasSubstr("not a security boundary"));
  host.seccomp.filter = Attempt::failed("install a filter", EINVAL);
  EXPECT_FALSE(process_on(host).usable());
}

}  // namespace
}  // namespace glovebox::probe
