// Which tenant gives up memory when the sandboxes together run short: the one above its share. Pure
// functions of what each uses; the launcher applies them a few times a second, and more often the
// less is free.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "sys/cgroup_parents.h"

namespace glovebox::launcher {

struct MemoryBound {
  sys::TenantNumber tenant = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MemoryBound&) const = default;
};

// A new bound for every tenant. While less than a half of all is in use, the most that a tenant may
// have; then its share. One that is above its share gets what it uses now, so it cannot grow while
// others need room. Never less: lowering a bound below that makes the kernel reclaim or kill while
// the launcher waits. `used_bytes` is what all use together, those without a tenant included.
std::vector<MemoryBound> memory_bounds(const sys::CgroupTotals& totals, std::uint64_t used_bytes,
                                       const std::vector<sys::TenantMemory>& tenants);

// Almost all of what the kernel gives before it kills is in use: a sandbox has to end.
bool is_nearly_full(const sys::CgroupTotals& totals, std::uint64_t used_bytes);
// Ending sandboxes did not help: no more are made.
bool is_full(const sys::CgroupTotals& totals, std::uint64_t used_bytes);

// The tenant furthest above its share when it is nearly full. It gives up a sandbox before the
// kernel has to choose a process of any tenant.
std::optional<sys::TenantNumber> tenant_above_share(const sys::CgroupTotals& totals,
                                                    std::uint64_t used_bytes,
                                                    const std::vector<sys::TenantMemory>& tenants);

// How long the next look may wait: half the time in which a program could fill what is free, within
// bounds. Between two looks the kernel chooses whom it kills.
std::chrono::milliseconds next_look(const sys::CgroupTotals& totals, std::uint64_t used_bytes);

}  // namespace glovebox::launcher
