// How much a project may keep that is not removed early: idempotent requests within their time,
// sessions that live, templates and snapshots. What else it keeps, the sweeper removes, the
// project's oldest first. On the store's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/over_quota.h"
#include "store/sqlite/project_usage.h"

namespace glovebox::store {

// The most that one of them gets when all share `capacity` and none gets more than it wants:
// what the small ones leave is for the others, in equal parts (max-min fairness).
std::uint64_t fair_share(std::uint64_t capacity, std::vector<std::uint64_t> wants);

// Of a template's or snapshot's row without its texts, as the triggers count it (schema.cc).
inline constexpr std::uint64_t kDefinitionRowBytes = 500;

class ProjectQuota {
 public:
  // Zero: no such limit.
  ProjectQuota(ProjectUsageTable& usages, std::uint64_t project_bytes, std::uint64_t disk_bytes)
      : usages_(usages), project_bytes_(project_bytes), disk_bytes_(disk_bytes) {}

  std::uint64_t project_bytes() const { return project_bytes_; }

  // May the project keep so much more? is_over_quota() when that is beyond its quota; or when all
  // projects' promises are beyond half of the disk's ceiling, and its own beyond its fair share of
  // that half. So one project's promises never keep another from its share.
  Result<> admit(const std::string& project, std::uint64_t more_bytes);

  // Of an idempotent request while it runs, for its answer, which is therefore certainly kept if
  // it is not longer.
  std::uint64_t answer_reserve() const;

 private:
  ProjectUsageTable& usages_;
  const std::uint64_t project_bytes_;
  const std::uint64_t disk_bytes_;
};

}  // namespace glovebox::store
