#include "launcher/sandbox/memory_shares.h"

#include <gtest/gtest.h>

namespace glovebox::launcher {
namespace {

constexpr std::uint64_t kMb = 1ull << 20;
using Bounds = std::vector<MemoryBound>;

constexpr sys::CgroupTotals kTotals{.memory_bytes = 6400 * kMb, .tenant_memory_bytes = 4800 * kMb};

TEST(MemoryShares, OneTenantAloneHasTheMostThatATenantMayHave) {
  const std::vector<sys::TenantMemory> tenants = {{1, 1000 * kMb, 1000 * kMb}};
  EXPECT_EQ(memory_bounds(kTotals, 1000 * kMb, tenants), (Bounds{{1, 4800 * kMb}}));
  EXPECT_FALSE(tenant_above_share(kTotals, 1000 * kMb, tenants));
}

TEST(MemoryShares, ATenantAboveItsShareCannotGrowWhenAnotherComes) {
  const Bounds bounds =
      memory_bounds(kTotals, 4060 * kMb, {{1, 4050 * kMb, 4050 * kMb}, {2, 10 * kMb, 10 * kMb}});
  // What it uses with a fifteenth for sockets (4320), up to the next step of 100 MB; the other may
  // have its half.
  EXPECT_EQ(bounds, (Bounds{{1, 4400 * kMb}, {2, 3200 * kMb}}));
}

TEST(MemoryShares, WhileThereIsRoomATenantMayHaveTheMost) {
  const Bounds bounds =
      memory_bounds(kTotals, 3199 * kMb, {{1, 100 * kMb, 100 * kMb}, {2, 10 * kMb, 10 * kMb}});
  EXPECT_EQ(bounds, (Bounds{{1, 4800 * kMb}, {2, 4800 * kMb}}));
}

TEST(MemoryShares, NoBoundIsAboveTheMostThatATenantMayHave) {
  const Bounds bounds =
      memory_bounds(kTotals, 4860 * kMb, {{1, 4850 * kMb, 4850 * kMb}, {2, 10 * kMb, 10 * kMb}});
  EXPECT_EQ(bounds[0].bytes, 4800 * kMb);
}

TEST(MemoryShares, WhenAlmostAllIsUsedTheTenantFurthestAboveItsSharePays) {
  const std::vector<sys::TenantMemory> tenants = {{1, 1500 * kMb, 1500 * kMb},
                                                  {2, 3500 * kMb, 3500 * kMb}};
  // The kernel kills at 6000: on cgroup v1 a sixteenth is for sockets.
  EXPECT_FALSE(tenant_above_share(kTotals, 5624 * kMb, tenants));
  EXPECT_EQ(tenant_above_share(kTotals, 5625 * kMb, tenants), 2u);
}

TEST(MemoryShares, PageCacheRaisesABoundAndIsNotPaidFor) {
  const std::vector<sys::TenantMemory> tenants = {{1, 10 * kMb, 4050 * kMb},
                                                  {2, 10 * kMb, 10 * kMb}};
  EXPECT_EQ(memory_bounds(kTotals, 6399 * kMb, tenants)[0].bytes, 4400 * kMb);
  EXPECT_FALSE(tenant_above_share(kTotals, 6399 * kMb, tenants));
}

TEST(MemoryShares, NoTenantPaysWithinItsShare) {
  // Runs, which have no tenant here, use the rest.
  EXPECT_FALSE(tenant_above_share(kTotals, 6400 * kMb,
                                  {{1, 2000 * kMb, 2000 * kMb}, {2, 2100 * kMb, 2100 * kMb}}));
}

TEST(MemoryShares, FullIsBelowWhereTheKernelKillsAndAboveWhereATenantPays) {
  EXPECT_FALSE(is_full(kTotals, 5625 * kMb));
  EXPECT_TRUE(is_nearly_full(kTotals, 5625 * kMb));
  EXPECT_TRUE(is_full(kTotals, 5999 * kMb));
  EXPECT_FALSE(is_full({}, 5999 * kMb));
  EXPECT_FALSE(is_nearly_full({}, 5999 * kMb));
}

TEST(MemoryShares, TheBoundsAreExact) {
  // The kernel kills at 6000: full is beyond 31 of 32 parts of it.
  constexpr std::uint64_t kFull = 6000 * kMb - 6000 * kMb / 32;
  EXPECT_FALSE(is_full(kTotals, kFull));
  EXPECT_TRUE(is_full(kTotals, kFull + 1));
  // Half of the total is no room any more.
  const std::vector<sys::TenantMemory> two = {{1, 100 * kMb, 100 * kMb}, {2, 10 * kMb, 10 * kMb}};
  EXPECT_EQ(memory_bounds(kTotals, 3200 * kMb, two), (Bounds{{1, 3200 * kMb}, {2, 3200 * kMb}}));
  // With one tenant, the share of each of the two (it and those without one) is the half.
  EXPECT_FALSE(tenant_above_share(kTotals, 6000 * kMb, {{1, 3200 * kMb, 3200 * kMb}}));
  EXPECT_EQ(tenant_above_share(kTotals, 6000 * kMb, {{1, 3200 * kMb + 1, 3200 * kMb}}), 1u);
}

// A program fills four megabytes in a millisecond.
TEST(MemoryShares, TheLessIsFreeTheSoonerIsTheNextLook) {
  using std::chrono::milliseconds;
  EXPECT_EQ(next_look(kTotals, 0), milliseconds(250));
  EXPECT_EQ(next_look(kTotals, 4000 * kMb), milliseconds(250));
  // The kernel kills at 6000.
  EXPECT_EQ(next_look(kTotals, 5200 * kMb), milliseconds(100));
  EXPECT_EQ(next_look(kTotals, 5600 * kMb), milliseconds(50));
  EXPECT_EQ(next_look(kTotals, 5999 * kMb), milliseconds(10));
  EXPECT_EQ(next_look(kTotals, 7000 * kMb), milliseconds(10));
  EXPECT_EQ(next_look({}, 7000 * kMb), milliseconds(250));
}

TEST(MemoryShares, WithoutABoundOrTenantsThereIsNothingToShare) {
  EXPECT_TRUE(memory_bounds({}, 10, {{1, 10, 10}}).empty());
  EXPECT_TRUE(memory_bounds(kTotals, 6400 * kMb, {}).empty());
  EXPECT_FALSE(tenant_above_share({}, 10, {{1, 10, 10}}));
  EXPECT_FALSE(tenant_above_share(kTotals, 6400 * kMb, {}));
}

}  // namespace
}  // namespace glovebox::launcher
