// Sessions and snapshots in the database. On the store's thread.
//
// Committed without an fsync: the write-ahead log survives our own death, and a power cut that
// takes the last transactions takes every sandbox along as well, so what is lost are records of
// what is gone. A snapshot does outlive the host, and is committed with one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/session_record.h"
#include "store/sqlite.h"

namespace glovebox::store {

class SessionTable {
 public:
  explicit SessionTable(Database& db) : db_(db) {}

  // Its place in the order.
  Result<std::int64_t> insert(const SessionRecord& session);
  // State, reason, metadata and times. kConflict when it is over there already, or gone.
  Result<> update(const SessionRecord& session);
  // kNotFound, also for another project's ("*": any).
  Result<SessionRecord> find(const std::string& project, const SandboxId& id);
  Result<SessionPage> list(const std::string& project, const SessionFilter& filter);
  // All that are not over.
  Result<std::vector<SessionRecord>> living();
  // Of those that are over, the oldest, in order of their ends.
  struct Removal {
    std::int64_t ended_before_ms = 0;  // zero: no such bound
    std::uint64_t keep = 0;            // zero: no such bound
    std::uint64_t most = 0;            // at once
  };
  Result<std::uint64_t> remove_ended(const Removal& removal);

 private:
  Database& db_;
};

class SnapshotTable {
 public:
  explicit SnapshotTable(Database& db) : db_(db) {}

  Result<> insert(const SnapshotRecord& snapshot);
  Result<> remove(const SnapshotId& id);
  Result<> set_layer(const SnapshotId& id, const std::string& layer);
  Result<std::vector<SnapshotRecord>> all();

 private:
  Database& db_;
};

}  // namespace glovebox::store
