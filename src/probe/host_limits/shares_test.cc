#include "probe/host_limits/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

using ::testing::HasSubstr;

TEST(Shares, AHostThatSaysNothingGivesTheSmallest) { EXPECT_EQ(shares_of({}), SandboxShares{}); }

TEST(Shares, AreBelowTheHostsTablesForAsManySandboxesAsAreExpected) {
  const HostTables tables{.terminals = 8000,
                          .open_files = 100'000'000,
                          .inotify_instances = 4000,
                          .inotify_watches = 1'000'000};
  const SandboxShares shares = shares_of(tables);
  EXPECT_EQ(shares.terminals, 40u);
  EXPECT_EQ(shares.open_files, 250'000u) << "one half is the host's";
  EXPECT_EQ(shares.inotify_instances, 20u);
  EXPECT_EQ(shares.inotify_watches, 5000u);
}

TEST(Shares, FewerSandboxesGetMoreAndMoreThanExpectedGetNoLess) {
  const HostTables tables{.terminals = 3072, .inotify_instances = 128};
  EXPECT_EQ(shares_of(tables, 64).terminals, 48u);
  EXPECT_EQ(shares_of(tables, 8).inotify_instances, 16u);
  EXPECT_EQ(shares_of(tables, 0).terminals, 64u);
  EXPECT_EQ(shares_of(tables, 2560), shares_of(tables, kSandboxesToCarry));
}

TEST(Shares, StayWithinWhatIsOfUse) {
  const HostTables tiny{
      .terminals = 1, .open_files = 1, .inotify_instances = 1, .inotify_watches = 1};
  EXPECT_EQ(shares_of(tiny), SandboxShares{});
  constexpr std::int64_t kHuge = 0x7fffffffffffffff;
  const HostTables huge{.terminals = kHuge,
                        .open_files = kHuge,
                        .inotify_instances = kHuge,
                        .inotify_watches = kHuge};
  EXPECT_EQ(shares_of(huge), (SandboxShares{64, 1u << 20, 32, 16'384}));
}

TEST(Shares, ManyProcessesGetFewerFilesEach) {
  const SandboxShares shares{.open_files = 131'072};
  EXPECT_EQ(open_files_of_a_process(shares, 16), 1024u);
  EXPECT_EQ(open_files_of_a_process(shares, 128), 1024u);
  EXPECT_EQ(open_files_of_a_process(shares, 129), 1016u);
  EXPECT_EQ(open_files_of_a_process(shares, 512), 256u);
  EXPECT_EQ(open_files_of_a_process(shares, 16'384), 256u);
  EXPECT_EQ(open_files_of_a_process(shares, 0), 1024u);
  EXPECT_EQ(open_files_of_a_process({.open_files = 1u << 20}, 1024), 1024u);
}

TEST(Shares, DoctorSaysHowManySandboxesATableCarries) {
  Findings findings;
  explain({.terminals = 3072, .terminals_kept = 1024, .open_files = 2'465'787}, findings);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].name, "kernel.pty.max");
  EXPECT_EQ(findings[0].state, State::kOk);
  EXPECT_THAT(findings[0].detail, HasSubstr("carries 192 sandboxes with 16 terminals each"));
  EXPECT_EQ(findings[1].name, "fs.file-max");
  EXPECT_EQ(findings[1].state, State::kWarn);
  EXPECT_THAT(findings[1].detail, HasSubstr("carries 18 sandboxes"));
  EXPECT_THAT(findings[1].fix, HasSubstr("sysctl -w fs.file-max=26214400"));
}

TEST(Shares, WhatAFixSetsIsEnough) {
  Findings findings;
  explain({.terminals = 100, .terminals_kept = 1024, .inotify_instances = 128}, findings);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(findings[0].fix, HasSubstr("kernel.pty.max=4224"));  // with those that are kept
  EXPECT_THAT(findings[1].fix, HasSubstr("fs.inotify.max_user_instances=1600"));
  Findings after;
  explain({.terminals = 4224 - 1024, .terminals_kept = 1024, .inotify_instances = 1600}, after);
  for (const Finding& finding : after) EXPECT_EQ(finding.state, State::kOk) << finding.detail;
}

TEST(Shares, OnlyTablesThatAreTooSmallAreToBeRaised) {
  const HostTables host{
      .terminals = 3072, .terminals_kept = 1024, .open_files = 1ll << 40, .inotify_instances = 128};
  const auto sizes = sizes_to_carry_all(host);
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_STREQ(sizes[0].sysctl, "kernel.pty.max");
  EXPECT_EQ(sizes[0].size, 4224);
  EXPECT_STREQ(sizes[1].sysctl, "fs.inotify.max_user_instances");
  EXPECT_EQ(sizes[1].size, 1600);
  EXPECT_TRUE(sizes_to_carry_all({}).empty());
}

}  // namespace
}  // namespace glovebox::probe
