// Keeps the database within its retention: old runs go, by age, count, bytes and the disk's
// ceiling, a chunk at a time, so that the store's thread is never away for long.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/idempotency_table.h"
#include "store/run_table.h"
#include "store/session_table.h"
#include "store/sqlite.h"
#include "store/sqlite_store.h"

namespace glovebox::store {

// Bytes of the database's files, as the file system says.
std::uint64_t files_bytes(const std::string& directory);

class Sweeper {
 public:
  Sweeper(Database& db, RunTable& runs, IdempotencyTable& requests, SessionTable& sessions,
          Retention retention, std::string directory)
      : db_(db),
        runs_(runs),
        requests_(requests),
        sessions_(sessions),
        retention_(retention),
        directory_(std::move(directory)) {}

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
  Result<std::uint64_t> remove_runs(std::int64_t now_ms);
  Result<std::uint64_t> remove_sessions(std::int64_t now_ms);
  Result<Swept> make_room(Effort effort);

  Database& db_;
  RunTable& runs_;
  IdempotencyTable& requests_;
  SessionTable& sessions_;
  const Retention retention_;
  const std::string directory_;
};

}  // namespace glovebox::store
