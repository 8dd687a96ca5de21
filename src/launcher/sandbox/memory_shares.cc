#include "launcher/sandbox/memory_shares.h"

#include <algorithm>

#include "sys/cgroup.h"

namespace glovebox::launcher {
namespace {

constexpr std::chrono::milliseconds kRarest{250};
constexpr std::chrono::milliseconds kMostOften{10};
// A program fills a gigabyte in about 250 ms.
constexpr std::uint64_t kFilledPerMillisecond = std::uint64_t{4} << 20;

// On cgroup v1 the kernel kills at this part of the total; the rest is for sockets.
std::uint64_t killed_at(const sys::CgroupTotals& totals) {
  return sys::split_memory(totals.memory_bytes).memory_bytes;
}

}  // namespace

bool is_nearly_full(const sys::CgroupTotals& totals, std::uint64_t used_bytes) {
  const std::uint64_t most = killed_at(totals);
  return most != 0 && used_bytes >= most - most / 16;
}

bool is_full(const sys::CgroupTotals& totals, std::uint64_t used_bytes) {
  const std::uint64_t most = killed_at(totals);
  return most != 0 && used_bytes > most - most / 32;
}

std::vector<MemoryBound> memory_bounds(const sys::CgroupTotals& totals, std::uint64_t used_bytes,
                                       const std::vector<sys::TenantMemory>& tenants) {
  std::vector<MemoryBound> bounds;
  if (totals.memory_bytes == 0 || tenants.empty()) return bounds;
  const std::uint64_t share = totals.memory_bytes / tenants.size();
  const bool has_room = used_bytes < totals.memory_bytes / 2;
  for (const sys::TenantMemory& one : tenants) {
    // In steps, so that a bound is not written anew for every page.
    const std::uint64_t step = std::max<std::uint64_t>(totals.memory_bytes / 64, 1);
    // With the part that v1 sets apart for sockets, so that what is used stays below the rest.
    const std::uint64_t used = (one.charged_bytes / 15 * 16 / step + 1) * step;
    const std::uint64_t bound =
        has_room || tenants.size() == 1 ? totals.memory_bytes : std::max(share, used);
    bounds.push_back({one.tenant, std::min(bound, totals.tenant_memory_bytes)});
  }
  return bounds;
}

std::optional<sys::TenantNumber> tenant_above_share(const sys::CgroupTotals& totals,
                                                    std::uint64_t used_bytes,
                                                    const std::vector<sys::TenantMemory>& tenants) {
  if (tenants.empty() || !is_nearly_full(totals, used_bytes)) return std::nullopt;
  // Those without a tenant have a share, too.
  const std::uint64_t fair = totals.memory_bytes / (tenants.size() + 1);
  const auto most =
      std::max_element(tenants.begin(), tenants.end(),
                       [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (most->bytes <= fair) return std::nullopt;
  return most->tenant;
}

std::chrono::milliseconds next_look(const sys::CgroupTotals& totals, std::uint64_t used_bytes) {
  const std::uint64_t most = killed_at(totals);
  if (most == 0) return kRarest;
  const std::uint64_t free = most - std::min(most, used_bytes);
  const std::chrono::milliseconds half(free / kFilledPerMillisecond / 2);
  return std::clamp(half, kMostOften, kRarest);
}

}  // namespace glovebox::launcher
