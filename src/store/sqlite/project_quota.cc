#include "store/sqlite/project_quota.h"

#include <algorithm>
#include <vector>

namespace glovebox::store {
namespace {

constexpr std::uint64_t kMaxReserve = 256u << 10;
constexpr std::uint64_t kReserveShare = 64;  // of a quota

std::string kilobytes(std::uint64_t bytes) { return std::to_string((bytes + 1023) >> 10) + " KB"; }

tl::unexpected<Error> over_quota(const ProjectUsage& usage, std::uint64_t most,
                                 const std::string& why) {
  return fail(
      over_quota_error(why +
                       ": its live sandboxes, its templates and snapshots and its idempotent "
                       "requests of the last 24 hours take " +
                       kilobytes(usage.promised_bytes()) + " of " + kilobytes(most)));
}

}  // namespace

Result<> ProjectQuota::admit(const std::string& project, std::uint64_t more_bytes) {
  if (project_bytes_ == 0 && disk_bytes_ == 0) return {};
  TRY(const ProjectUsage usage, usages_.of(project));
  const std::uint64_t wanted = usage.promised_bytes() + more_bytes;
  if (project_bytes_ > 0 && wanted > project_bytes_) {
    return over_quota(usage, project_bytes_,
                      "the project's share of the store is used up (store.project_quota)");
  }
  if (disk_bytes_ == 0) return {};
  TRY(const std::uint64_t promised, usages_.promised_bytes());
  const std::uint64_t for_all = disk_bytes_ / 2;
  if (promised + more_bytes <= for_all) return {};
  TRY(const std::vector<ProjectUsage> all, usages_.all());
  std::vector<std::uint64_t> wants = {wanted};
  for (const ProjectUsage& one : all) {
    if (one.project != project) wants.push_back(one.promised_bytes());
  }
  const std::uint64_t share = fair_share(for_all, std::move(wants));
  if (wanted <= share) return {};
  return over_quota(usage, share,
                    "the store is full (store.disk_ceiling), and the project has its share of it");
}

std::uint64_t fair_share(std::uint64_t capacity, std::vector<std::uint64_t> wants) {
  std::sort(wants.begin(), wants.end());
  std::uint64_t left = capacity;
  for (std::size_t i = 0; i < wants.size(); ++i) {
    const std::uint64_t equal = left / (wants.size() - i);
    if (wants[i] > equal) return equal;
    left -= wants[i];
  }
  return wants.empty() ? capacity : wants.back() + left;
}

std::uint64_t ProjectQuota::answer_reserve() const {
  return std::min(kMaxReserve, project_bytes_ / kReserveShare);
}

}  // namespace glovebox::store
