// Sessions and snapshots in the database. On the store's thread.
//
// Committed without an fsync: the write-ahead log survives our own death, and a power cut that
// takes the last transactions takes every sandbox along as well, so what is lost are records of
// what is gone. A snapshot does outlive the host, and is committed with one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/session_record.h"
#include "store/sqlite/project_quota.h"
#include "store/sqlite/sqlite.h"

namespace glovebox::store {

class SessionTable {
 public:
  SessionTable(Database& db, ProjectQuota& quota) : db_(db), quota_(quota) {}

  // Its place in the order. is_over_quota() when its project has no room for it.
  Result<std::int64_t> insert(const SessionRecord& session);
  // State, reason, metadata and times. kConflict when it is over there already, or gone;
  // is_over_quota() when its metadata grows and its project has no room for that. The end of a
  // session is never refused, and takes its environment and the token of its ports out of the row.
  Result<> update(const SessionRecord& session);
  // kNotFound, also for another project's ("*": any).
  Result<SessionRecord> find(const std::string& project, const SandboxId& id);
  Result<SessionPage> list(const std::string& project, const SessionFilter& filter);
  // All that are not over.
  Result<std::vector<SessionRecord>> living();
  // Of those that are over, the oldest, in order of their ends. Each bound that is given ends it.
  struct Removal {
    std::optional<std::string> project{};  // of this one only
    std::optional<std::int64_t> ended_before_ms{};
    std::uint64_t max_sessions = 0;
    std::optional<std::uint64_t> until_bytes{};  // enough once so many bytes are gone
  };
  struct Removed {
    std::uint64_t sessions = 0;
    std::uint64_t bytes = 0;
  };
  Result<Removed> remove_ended(const Removal& removal);
  // When the first of the project's ended sessions ended.
  Result<std::optional<std::int64_t>> oldest_end_ms(const std::string& project);

 private:
  Database& db_;
  ProjectQuota& quota_;
};

class SnapshotTable {
 public:
  SnapshotTable(Database& db, ProjectQuota& quota) : db_(db), quota_(quota) {}

  // is_over_quota() when its project has no room for it.
  Result<> insert(const SnapshotRecord& snapshot);
  Result<> remove(const SnapshotId& id);
  Result<> set_layer(const SnapshotId& id, const std::string& layer);
  Result<std::vector<SnapshotRecord>> all();

 private:
  Database& db_;
  ProjectQuota& quota_;
};

}  // namespace glovebox::store
