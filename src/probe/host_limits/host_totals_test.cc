#include "probe/host_limits/host_totals.h"

#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

TEST(HostTotals, TheSmallestOfTheKernelsBoundsCountsAndTheHostKeepsAnEighth) {
  EXPECT_EQ(pids_for_sandboxes({.pid_max = 32'768, .threads_max = 192'700}), 28'672u);
  EXPECT_EQ(pids_for_sandboxes({.pid_max = 4'194'304, .threads_max = 16'000}), 14'000u);
  EXPECT_EQ(pids_for_sandboxes({.pid_max = 32'768, .threads_max = 192'700, .cgroup_pids = 8'000}),
            6'976u);  // 1,024 stay
}

TEST(HostTotals, ASmallNumberIsNotAllHeadroom) {
  EXPECT_EQ(pids_for_sandboxes({.pid_max = 2'000}), 1'500u);
}

TEST(HostTotals, TheHostKeepsASixteenthOfItsMemoryAndAtLeast512Megabytes) {
  EXPECT_EQ(memory_for_sandboxes({.memory_bytes = 32ll << 30}), 30ull << 30);
  EXPECT_EQ(memory_for_sandboxes({.memory_bytes = 4ll << 30}), (4ull << 30) - (512u << 20));
  EXPECT_EQ(memory_for_sandboxes({.memory_bytes = 32ll << 30, .cgroup_memory_bytes = 1ll << 30}),
            768ull << 20);
}

TEST(HostTotals, WhatTheKernelDoesNotSayIsNotGuessed) {
  EXPECT_EQ(pids_for_sandboxes({}), 0u);
  EXPECT_EQ(memory_for_sandboxes({}), 0u);
}

}  // namespace
}  // namespace glovebox::probe
