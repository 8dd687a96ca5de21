// Keeps the database within its retention: records of runs and of ended sessions go by age, count,
// bytes, their project's quota and the disk's ceiling, a chunk at a time, so that the store's
// thread is never away for long. Where all projects together have too much, the one that has most
// gives; of a project, the oldest records go. Idempotent requests go by age and for no other
// reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/idempotency_table.h"
#include "store/sqlite/project_usage.h"
#include "store/sqlite/run_table.h"
#include "store/sqlite/session_table.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/sqlite_store.h"

namespace glovebox::store {

// Bytes of the database's files, as the file system says.
std::uint64_t files_bytes(const std::string& directory);

class Sweeper {
 public:
  // Borrowed.
  struct Tables {
    RunTable& runs;
    IdempotencyTable& requests;
    SessionTable& sessions;
    ProjectUsageTable& usages;
  };
  Sweeper(Database& db, Tables tables, Retention retention, std::string directory)
      : db_(db), tables_(tables), retention_(retention), directory_(std::move(directory)) {}

  // kLight leaves free pages in the file for the runs to come, as long as the ceiling allows it;
  // kThorough gives them all back.
  enum class Effort { kLight, kThorough };
  struct Swept {
    std::uint64_t runs = 0;
    std::uint64_t idempotent_entries = 0;
    std::uint64_t sessions = 0;
    bool more = false;  // there is work left
  };
  // One step: some milliseconds of work.
  Result<Swept> step(std::int64_t now_ms, Effort effort);

  // Moves what is in the write-ahead log into the database and gives the log's space back.
  Result<> checkpoint();

 private:
  struct Removed {
    std::uint64_t runs = 0;
    std::uint64_t sessions = 0;
    std::uint64_t bytes = 0;
    bool any() const { return runs > 0 || sessions > 0; }
    void add(const RunTable::Removed& more);
    void add(const SessionTable::Removed& more);
  };
  // One of these a step: each returns when it has removed something.
  Result<Removed> remove_old(std::int64_t now_ms);
  Result<Removed> remove_beyond_counts(const std::vector<ProjectUsage>& usages);
  Result<Removed> remove_beyond_quota(const std::vector<ProjectUsage>& usages);
  // The oldest records of a project, of either kind, until about so many bytes are gone.
  Result<Removed> remove_of_project(const std::string& project, std::uint64_t bytes);
  Result<Removed> remove_from_largest(std::uint64_t excess_bytes);
  Result<Swept> make_room(Effort effort);

  Database& db_;
  const Tables tables_;
  const Retention retention_;
  const std::string directory_;
};

}  // namespace glovebox::store
