#include "store/sqlite/project_usage.h"

#include <algorithm>

namespace glovebox::store {
namespace {

constexpr std::string_view kUsageColumns =
    "project, runs, run_bytes, ended, ended_bytes, living_bytes, request_bytes, definition_bytes";

std::uint64_t sum_of(const Statement& row, int column) {
  return static_cast<std::uint64_t>(row.integer(column));
}

ProjectUsage read_usage(const Statement& row) {
  return {.project = row.text(0),
          .runs = sum_of(row, 1),
          .run_bytes = sum_of(row, 2),
          .ended = sum_of(row, 3),
          .ended_bytes = sum_of(row, 4),
          .living_bytes = sum_of(row, 5),
          .request_bytes = sum_of(row, 6),
          .definition_bytes = sum_of(row, 7)};
}

}  // namespace

Result<ProjectUsage> ProjectUsageTable::of(const std::string& project) {
  TRY(Statement select, db_.prepare("SELECT " + std::string(kUsageColumns) +
                                    " FROM project_usage WHERE project = ?"));
  TRY(const bool row, select.bind(project).next());
  if (!row) return ProjectUsage{.project = project};
  return read_usage(select);
}

Result<std::vector<ProjectUsage>> ProjectUsageTable::all() {
  TRY(Statement select,
      db_.prepare("SELECT " + std::string(kUsageColumns) + " FROM project_usage"));
  std::vector<ProjectUsage> usages;
  while (true) {
    TRY(const bool row, select.next());
    if (!row) return usages;
    usages.push_back(read_usage(select));
  }
}

Result<std::uint64_t> ProjectUsageTable::promised_bytes() {
  TRY(const std::int64_t bytes,
      db_.number("SELECT coalesce(sum(living_bytes + request_bytes + definition_bytes), 0) "
                 "FROM project_usage"));
  return static_cast<std::uint64_t>(bytes);
}

std::vector<ProjectCut> cuts_from_largest(std::vector<ProjectUsage> usages, std::uint64_t excess,
                                          UsageMeasure size, UsageMeasure removable) {
  std::vector<ProjectCut> cuts;
  std::erase_if(usages, [&](const ProjectUsage& usage) { return removable(usage) == 0; });
  if (usages.empty() || excess == 0) return cuts;
  std::sort(usages.begin(), usages.end(),
            [&](const ProjectUsage& a, const ProjectUsage& b) { return size(a) > size(b); });
  // The first `count` of them come down to one level, which is not below the next one.
  std::uint64_t sum = 0;
  std::size_t count = 0;
  while (count < usages.size()) {
    sum += size(usages[count]);
    ++count;
    const std::uint64_t next = count < usages.size() ? size(usages[count]) : 0;
    if (sum - next * count >= excess) break;
  }
  const std::uint64_t level = sum > excess ? (sum - excess) / count : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t above = size(usages[i]) - std::min(level, size(usages[i]));
    const std::uint64_t amount = std::min(above, removable(usages[i]));
    if (amount > 0) cuts.push_back({.project = std::move(usages[i].project), .amount = amount});
  }
  return cuts;
}

}  // namespace glovebox::store
