// What each project takes of the database, in bytes as its records count them. The sums are in the
// table project_usage, which triggers change together with the records (schema.cc): one project is
// one row, and a look at all of them reads as many rows as there are projects. On the store's
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/sqlite.h"

namespace glovebox::store {

struct ProjectUsage {
  std::string project{};
  std::uint64_t runs = 0;  // records
  std::uint64_t run_bytes = 0;
  std::uint64_t ended = 0;  // records of ended sessions
  std::uint64_t ended_bytes = 0;
  std::uint64_t living_bytes = 0;      // of sessions that are not over
  std::uint64_t request_bytes = 0;     // of idempotent requests
  std::uint64_t definition_bytes = 0;  // of templates and snapshots; not of the snapshots' files
  bool operator==(const ProjectUsage&) const = default;

  // May be removed before its time.
  std::uint64_t removable_bytes() const { return run_bytes + ended_bytes; }
  // Is kept for as long as its project was promised.
  std::uint64_t promised_bytes() const { return living_bytes + request_bytes + definition_bytes; }
  std::uint64_t bytes() const { return removable_bytes() + promised_bytes(); }
};

class ProjectUsageTable {
 public:
  explicit ProjectUsageTable(Database& db) : db_(db) {}

  // Zeros for a project that has nothing.
  Result<ProjectUsage> of(const std::string& project);
  Result<std::vector<ProjectUsage>> all();
  // Of all projects together.
  Result<std::uint64_t> promised_bytes();

 private:
  Database& db_;
};

// Who gives up how much when `excess` is too much of something: the largest, until it is as large
// as the next, then both alike, and so on. No project below that level gives up anything.
struct ProjectCut {
  std::string project{};
  std::uint64_t amount = 0;
};
using UsageMeasure = std::uint64_t (*)(const ProjectUsage& usage);
// Largest first. Only projects of which `removable` is not zero give, and not more than that.
std::vector<ProjectCut> cuts_from_largest(std::vector<ProjectUsage> usages, std::uint64_t excess,
                                          UsageMeasure size, UsageMeasure removable);

}  // namespace glovebox::store
