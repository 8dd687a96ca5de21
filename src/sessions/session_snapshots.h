// Snapshots of sessions: the files that a running session has added to its template, kept in the
// SnapshotStore under the session's project.
#pragma once

#include <memory>
#include <string>

#include "base/task.h"
#include "sessions/session_registry.h"
#include "snapshots/snapshot_store.h"

namespace glovebox::sessions {

class SessionSnapshots {
 public:
  // Both are borrowed and outlive this.
  SessionSnapshots(SessionRegistry& registry, snapshots::SnapshotStore& store)
      : registry_(registry), store_(store) {}

  // kNotFound; kConflict: it does not run; kResourceExhausted as SnapshotStore::keep's.
  Task<store::SnapshotRecord> take(std::string project, std::string id, std::string name,
                                   std::shared_ptr<node::CancelFlag> cancel);

 private:
  SessionRegistry& registry_;
  snapshots::SnapshotStore& store_;
};

}  // namespace glovebox::sessions
