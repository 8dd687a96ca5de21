#include "store/sweeper.h"

#include <sys/stat.h>

#include <algorithm>

#include "store/schema.h"

namespace glovebox::store {

namespace {

constexpr std::size_t kChunkRuns = 500;
constexpr std::size_t kChunkRunsForRoom = 100;
constexpr std::size_t kChunkEntries = 20;  // their answers may be long
constexpr std::uint64_t kChunkSessions = 200;
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

Result<Sweeper::Swept> Sweeper::step(std::int64_t now_ms, Effort effort) {
  Swept swept;
  TRY(swept.idempotent_entries, requests_.expire(now_ms, kChunkEntries));
  TRY(swept.runs, remove_runs(now_ms));
  TRY(swept.sessions, remove_sessions(now_ms));
  if (swept.runs > 0 || swept.sessions > 0 || swept.idempotent_entries == kChunkEntries) {
    swept.more = true;
    return swept;
  }
  TRY(const Swept room, make_room(effort));
  swept.runs = room.runs;
  swept.idempotent_entries += room.idempotent_entries;
  swept.more = room.more;
  return swept;
}

Result<std::uint64_t> Sweeper::remove_runs(std::int64_t now_ms) {
  if (retention_.max_age.count() > 0) {
    // A run's place in the order is when it was added, by a clock that does not jump.
    const std::int64_t before_us = (now_ms - retention_.max_age.count() * 1000) * 1000;
    TRY(const std::uint64_t removed,
        runs_.remove_oldest({.max_runs = kChunkRuns, .before_seq = before_us}));
    if (removed > 0) return removed;
  }
  if (retention_.max_runs > 0 && runs_.runs() > retention_.max_runs) {
    const std::uint64_t excess = runs_.runs() - retention_.max_runs;
    return runs_.remove_oldest({.max_runs = std::min<std::size_t>(kChunkRuns, excess)});
  }
  if (retention_.max_run_bytes > 0 && runs_.bytes() > retention_.max_run_bytes) {
    return runs_.remove_oldest(
        {.max_runs = kChunkRuns, .until_bytes = runs_.bytes() - retention_.max_run_bytes});
  }
  return 0;
}

Result<std::uint64_t> Sweeper::remove_sessions(std::int64_t now_ms) {
  SessionTable::Removal removal{.keep = retention_.max_runs, .most = kChunkSessions};
  if (retention_.max_age.count() > 0) {
    removal.ended_before_ms = now_ms - retention_.max_age.count() * 1000;
  }
  return sessions_.remove_ended(removal);
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
  if (ceiling > 0 && used > ceiling - ceiling / 8) {
    TRY(swept.runs, runs_.remove_oldest({.max_runs = kChunkRunsForRoom}));
    if (swept.runs == 0) {
      TRY(swept.idempotent_entries, requests_.remove_oldest(kChunkEntries));
    }
    swept.more = swept.runs > 0 || swept.idempotent_entries > 0;
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
