#include "probe/host_limits/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

using ::testing::HasSubstr;

TEST(Limits, ASysctlIsAPath) {
  EXPECT_EQ(sysctl_path("fs.inotify.max_user_instances"),
            "/proc/sys/fs/inotify/max_user_instances");
}

TEST(Limits, WarnsOfASmallCeilingWithTheSysctlLine) {
  Findings findings;
  explain({.ceilings = {{"user.max_net_namespaces", 100}}, .open_files_hard = 1 << 20}, findings);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].state, State::kWarn);
  EXPECT_THAT(findings[0].fix, HasSubstr("sysctl -w user.max_net_namespaces=65536"));
}

TEST(Limits, ARaisedCeilingIsFine) {
  Findings findings;
  explain({.ceilings = {{"user.max_net_namespaces", 8192}}, .open_files_hard = 1 << 20}, findings);
  for (const Finding& finding : findings) EXPECT_EQ(finding.state, State::kOk) << finding.name;
}

TEST(Limits, WhatAMaskedProcHidesIsNotGuessed) {
  Findings findings;
  explain({.ceilings = {{"user.max_net_namespaces", std::nullopt}}}, findings);
  for (const Finding& finding : findings) EXPECT_EQ(finding.name, "open files");
}

TEST(Limits, NamespacesWithRoomShareALineAndASmallOneHasItsOwn) {
  Findings findings;
  explain({.ceilings = {{"user.max_user_namespaces", 0},
                        {"user.max_pid_namespaces", 9000},
                        {"user.max_net_namespaces", 5000}},
           .open_files_hard = 1 << 20},
          findings);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].name, "user.max_user_namespaces");
  EXPECT_EQ(findings[0].state, State::kWarn);
  EXPECT_THAT(findings[1].detail, HasSubstr("5000"));
}

TEST(Limits, SaysHowManySandboxesTheProcessesOfThisHostCarry) {
  Findings findings;
  explain({.sandbox_pids = 28'672, .open_files_hard = 1 << 20}, findings);
  EXPECT_EQ(findings[0].name, "processes of sandboxes");
  EXPECT_EQ(findings[0].state, State::kOk);
  EXPECT_THAT(findings[0].detail, HasSubstr("28672 together: 224 sandboxes"));
}

TEST(Limits, WarnsIfTheProcessesOfThisHostCarryFewSandboxes) {
  Findings findings;
  explain({.sandbox_pids = 3'000, .open_files_hard = 1 << 20}, findings);
  EXPECT_EQ(findings[0].state, State::kWarn);
  EXPECT_THAT(findings[0].detail, HasSubstr("23 sandboxes"));
  EXPECT_THAT(findings[0].fix, HasSubstr("sysctl -w kernel.pid_max="));
}

}  // namespace
}  // namespace glovebox::probe
