#include "probe/user_namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

using ::testing::HasSubstr;

const Attempt kDeniedMap = Attempt::failed("write uid_map", EPERM);
const Attempt kDeniedUnshare = Attempt::failed("create a user namespace", EPERM);

UserNamespaceFacts refused(const Attempt& attempt, UserNamespaceSwitches switches) {
  return {.ordinary_user = attempt,
          .uid_slice = Attempt::failed("write uid_map", EPERM),
          .switches = switches,
          .is_root = false};
}

TEST(UserNamespaces, OnUbuntuItIsAppArmor) {
  const FailureCause cause =
      cause_of_failure(kDeniedMap, {.unprivileged_userns_clone = 1,
                                    .apparmor_restrict_unprivileged_userns = 1,
                                    .max_user_namespaces = 63000});
  EXPECT_THAT(cause.reason, HasSubstr("AppArmor"));
  EXPECT_THAT(cause.fix, HasSubstr("kernel.apparmor_restrict_unprivileged_userns=0"));
}

TEST(UserNamespaces, OnOldDebianItIsTheCloneSwitch) {
  const FailureCause cause = cause_of_failure(
      kDeniedUnshare, {.unprivileged_userns_clone = 0, .max_user_namespaces = 63000});
  EXPECT_THAT(cause.fix, HasSubstr("kernel.unprivileged_userns_clone=1"));
}

TEST(UserNamespaces, OnHardenedHostsItIsTheCountOfZero) {
  const FailureCause cause =
      cause_of_failure(Attempt::failed("create a user namespace", ENOSPC),
                       {.apparmor_restrict_unprivileged_userns = 1, .max_user_namespaces = 0});
  EXPECT_THAT(cause.fix, HasSubstr("user.max_user_namespaces="));
}

TEST(UserNamespaces, InAContainerItIsItsFilter) {
  const FailureCause cause =
      cause_of_failure(kDeniedUnshare, {.max_user_namespaces = 63000, .under_seccomp = true});
  EXPECT_THAT(cause.reason, HasSubstr("seccomp"));
}

TEST(UserNamespaces, ACapabilitylessRootCannotMapItself) {
  const FailureCause cause =
      cause_of_failure(kDeniedMap, {.max_user_namespaces = 63000, .root_without_setfcap = true});
  EXPECT_THAT(cause.reason, HasSubstr("CAP_SETFCAP"));
}

TEST(UserNamespaces, NoSwitchIsBlamedForNothing) {
  const FailureCause cause =
      cause_of_failure(kDeniedUnshare, {.unprivileged_userns_clone = 1,
                                        .apparmor_restrict_unprivileged_userns = 0,
                                        .max_user_namespaces = 63000});
  EXPECT_THAT(cause.reason, HasSubstr("for an unknown reason"));
}

TEST(UserNamespaces, TheFindingNamesTheSwitchThatBites) {
  Findings findings;
  explain(refused(kDeniedMap, {.apparmor_restrict_unprivileged_userns = 1}), findings);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].state, State::kMissing);
  EXPECT_THAT(findings[0].detail, HasSubstr("write uid_map: Operation not permitted"));
  EXPECT_THAT(findings[0].detail, HasSubstr("AppArmor"));
}

}  // namespace
}  // namespace glovebox::probe
