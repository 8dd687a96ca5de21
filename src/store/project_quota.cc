#include "store/project_quota.h"

#include <algorithm>
#include <cerrno>

namespace glovebox::store {
namespace {

constexpr std::uint64_t kMaxReserve = 256u << 10;
constexpr std::uint64_t kReserveShare = 64;  // of a quota

std::string kilobytes(std::uint64_t bytes) { return std::to_string((bytes + 1023) >> 10) + " KB"; }

tl::unexpected<Error> over_quota(const ProjectUsage& usage, std::uint64_t most,
                                 const std::string& why) {
  return fail(Error(Errc::kResourceExhausted,
                    why +
                        ": its living sandboxes and its idempotent requests of the last 24 "
                        "hours take " +
                        kilobytes(usage.promised_bytes()) + " of " + kilobytes(most),
                    EDQUOT));
}

}  // namespace

// SQLite's own errors never have this number: see error_of().
bool is_over_quota(const Error& error) {
  return error.code() == Errc::kResourceExhausted && error.sys_errno() == EDQUOT;
}

Result<> ProjectQuota::admit(const std::string& project, std::uint64_t more_bytes) {
  if (project_bytes_ == 0 && disk_bytes_ == 0) return {};
  TRY(const ProjectUsage usage, usages_.of(project));
  const std::uint64_t wanted = usage.promised_bytes() + more_bytes;
  if (project_bytes_ > 0 && wanted > project_bytes_) {
    return over_quota(usage, project_bytes_,
                      "the project's share of the store is used up (store.project_quota)");
  }
  if (disk_bytes_ == 0) return {};
  TRY(const ProjectUsageTable::Promises all, usages_.promises());
  const std::uint64_t for_all = disk_bytes_ / 2;
  if (all.bytes + more_bytes <= for_all) return {};
  const std::uint64_t projects = all.projects + (usage.promised_bytes() == 0 ? 1 : 0);
  const std::uint64_t equal_share = for_all / projects;
  if (wanted <= equal_share) return {};
  return over_quota(
      usage, equal_share,
      "the store is full (store.disk_ceiling), and the project has an equal share of it");
}

std::uint64_t ProjectQuota::answer_reserve() const {
  return std::min(kMaxReserve, project_bytes_ / kReserveShare);
}

}  // namespace glovebox::store
