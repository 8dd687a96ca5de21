#include "store/sqlite/sweeper.h"

#include <sys/stat.h>

#include <algorithm>

#include "store/sqlite/schema.h"

namespace glovebox::store {

namespace {

// Of one transaction. By bytes as well: what is removed is overwritten, page by page, in the log.
constexpr std::size_t kChunkRuns = 500;
constexpr std::size_t kChunkEntries = 20;
constexpr std::uint64_t kChunkSessions = 500;
constexpr std::uint64_t kChunkBytes = 4u << 20;
constexpr int kChunkPages = 512;

std::uint64_t file_bytes(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

}  // namespace

std::uint64_t files_bytes(const std::string& directory) {
  const std::string path = database_path(directory);
  return file_bytes(path) + file_bytes(path + "-wal");
}

void Sweeper::Removed::add(const RunTable::Removed& more) {
  runs += more.runs;
  bytes += more.bytes;
}

void Sweeper::Removed::add(const SessionTable::Removed& more) {
  sessions += more.sessions;
  bytes += more.bytes;
}

Result<Sweeper::Swept> Sweeper::step(std::int64_t now_ms, Effort effort) {
  Swept swept;
  TRY(swept.idempotent_entries, tables_.requests.expire(now_ms, kChunkEntries, kChunkBytes));
  TRY(Removed removed, remove_old(now_ms));
  if (!removed.any()) {
    TRY(const std::vector<ProjectUsage> usages, tables_.usages.all());
    TRY(removed, remove_beyond_counts(usages));
    if (!removed.any()) {
      TRY(removed, remove_beyond_quota(usages));
    }
  }
  swept.runs = removed.runs;
  swept.sessions = removed.sessions;
  if (removed.any() || swept.idempotent_entries > 0) {
    swept.more = true;
    return swept;
  }
  return make_room(effort);
}

Result<Sweeper::Removed> Sweeper::remove_old(std::int64_t now_ms) {
  Removed removed;
  if (retention_.max_age.count() == 0) return removed;
  const std::int64_t before_ms = now_ms - retention_.max_age.count() * 1000;
  // A run's place in the order is when it was added, by a clock that does not jump.
  TRY(const RunTable::Removed runs,
      tables_.runs.remove_oldest(
          {.max_runs = kChunkRuns, .before_seq = before_ms * 1000, .until_bytes = kChunkBytes}));
  removed.add(runs);
  TRY(const SessionTable::Removed sessions,
      tables_.sessions.remove_ended({.ended_before_ms = before_ms,
                                     .max_sessions = kChunkSessions,
                                     .until_bytes = kChunkBytes}));
  removed.add(sessions);
  return removed;
}

Result<Sweeper::Removed> Sweeper::remove_beyond_counts(const std::vector<ProjectUsage>& usages) {
  const auto runs_of = [](const ProjectUsage& usage) { return usage.runs; };
  const auto run_bytes_of = [](const ProjectUsage& usage) { return usage.run_bytes; };
  const auto ended_of = [](const ProjectUsage& usage) { return usage.ended; };
  const auto excess = [&usages](UsageMeasure size, std::uint64_t most) {
    std::uint64_t sum = 0;
    for (const ProjectUsage& usage : usages) sum += size(usage);
    return most > 0 && sum > most ? sum - most : 0;
  };
  Removed removed;
  const std::uint64_t runs = excess(runs_of, retention_.max_runs);
  for (const ProjectCut& cut : cuts_from_largest(usages, runs, runs_of, runs_of)) {
    TRY(const RunTable::Removed gone,
        tables_.runs.remove_oldest({.project = cut.project,
                                    .max_runs = std::min<std::size_t>(kChunkRuns, cut.amount),
                                    .until_bytes = kChunkBytes}));
    removed.add(gone);
    if (removed.runs >= kChunkRuns || removed.bytes >= kChunkBytes) break;
  }
  if (removed.any()) return removed;
  const std::uint64_t run_bytes = excess(run_bytes_of, retention_.max_run_bytes);
  for (const ProjectCut& cut : cuts_from_largest(usages, run_bytes, run_bytes_of, run_bytes_of)) {
    TRY(const RunTable::Removed gone,
        tables_.runs.remove_oldest({.project = cut.project,
                                    .max_runs = kChunkRuns,
                                    .until_bytes = std::min(kChunkBytes, cut.amount)}));
    removed.add(gone);
    if (removed.runs >= kChunkRuns || removed.bytes >= kChunkBytes) break;
  }
  if (removed.any()) return removed;
  const std::uint64_t ended = excess(ended_of, retention_.max_runs);
  for (const ProjectCut& cut : cuts_from_largest(usages, ended, ended_of, ended_of)) {
    TRY(const SessionTable::Removed gone,
        tables_.sessions.remove_ended({.project = cut.project,
                                       .max_sessions = std::min(kChunkSessions, cut.amount),
                                       .until_bytes = kChunkBytes}));
    removed.add(gone);
    if (removed.sessions >= kChunkSessions || removed.bytes >= kChunkBytes) break;
  }
  return removed;
}

Result<Sweeper::Removed> Sweeper::remove_beyond_quota(const std::vector<ProjectUsage>& usages) {
  const std::uint64_t quota = retention_.project_quota();
  if (quota == 0) return Removed{};
  for (const ProjectUsage& usage : usages) {
    if (usage.bytes() <= quota || usage.removable_bytes() == 0) continue;
    return remove_of_project(usage.project, std::min(kChunkBytes, usage.bytes() - quota));
  }
  return Removed{};
}

Result<Sweeper::Removed> Sweeper::remove_of_project(const std::string& project,
                                                    std::uint64_t bytes) {
  TRY(const std::optional<std::int64_t> first_run, tables_.runs.oldest_seq(project));
  TRY(const std::optional<std::int64_t> first_end_ms, tables_.sessions.oldest_end_ms(project));
  Removed removed;
  // The kind that has the oldest one, up to the oldest one of the other kind.
  if (first_run && (!first_end_ms || *first_run / 1000 <= *first_end_ms)) {
    RunTable::Removal removal{.project = project, .max_runs = kChunkRuns, .until_bytes = bytes};
    if (first_end_ms) removal.before_seq = (*first_end_ms + 1) * 1000;
    TRY(const RunTable::Removed runs, tables_.runs.remove_oldest(removal));
    removed.add(runs);
  } else if (first_end_ms) {
    SessionTable::Removal removal{
        .project = project, .max_sessions = kChunkSessions, .until_bytes = bytes};
    if (first_run) removal.ended_before_ms = *first_run / 1000;
    TRY(const SessionTable::Removed sessions, tables_.sessions.remove_ended(removal));
    removed.add(sessions);
  }
  return removed;
}

Result<Sweeper::Removed> Sweeper::remove_from_largest(std::uint64_t excess_bytes) {
  TRY(std::vector<ProjectUsage> usages, tables_.usages.all());
  const std::vector<ProjectCut> cuts = cuts_from_largest(
      std::move(usages), excess_bytes, [](const ProjectUsage& usage) { return usage.bytes(); },
      [](const ProjectUsage& usage) { return usage.removable_bytes(); });
  Removed removed;
  for (const ProjectCut& cut : cuts) {
    const std::uint64_t left = kChunkBytes - std::min(kChunkBytes, removed.bytes);
    TRY(const Removed gone, remove_of_project(cut.project, std::min(cut.amount, left)));
    removed.runs += gone.runs;
    removed.sessions += gone.sessions;
    removed.bytes += gone.bytes;
    if (removed.bytes >= kChunkBytes) break;
  }
  return removed;
}

Result<Sweeper::Swept> Sweeper::make_room(Effort effort) {
  Swept swept;
  TRY(const std::int64_t page_bytes, db_.number("PRAGMA page_size"));
  TRY(const std::int64_t pages, db_.number("PRAGMA page_count"));
  TRY(const std::int64_t free_pages, db_.number("PRAGMA freelist_count"));
  const std::uint64_t ceiling = retention_.max_disk_bytes;
  const std::uint64_t on_disk = files_bytes(directory_);
  const bool too_big = ceiling > 0 && on_disk > ceiling;

  // The log first: it can be emptied without losing anything.
  const std::string log_path = database_path(directory_) + "-wal";
  if (too_big && file_bytes(log_path) > ceiling / 8) {
    TRY_OK(checkpoint());
    swept.more = file_bytes(log_path) <= ceiling / 8;
    return swept;
  }
  // Pages in use, against a little less than the ceiling: runs to come then use the free pages,
  // and the file need not shrink and grow all the time.
  const auto used = static_cast<std::uint64_t>((pages - free_pages) * page_bytes);
  if (const std::uint64_t most = ceiling - ceiling / 8; ceiling > 0 && used > most) {
    TRY(const Removed removed, remove_from_largest(used - most));
    swept.runs = removed.runs;
    swept.sessions = removed.sessions;
    swept.more = removed.any();
    if (swept.more) return swept;
  }
  if (free_pages > 0 && (too_big || effort == Effort::kThorough)) {
    TRY_OK(db_.exec("PRAGMA incremental_vacuum(" + std::to_string(kChunkPages) + ")"));
    TRY(const std::int64_t left, db_.number("PRAGMA freelist_count"));
    swept.more = left < free_pages;
    if (left == 0) TRY_OK(checkpoint());  // only now does the file shrink
  }
  return swept;
}

Result<> Sweeper::checkpoint() { return db_.exec("PRAGMA wal_checkpoint(TRUNCATE)"); }

}  // namespace glovebox::store
