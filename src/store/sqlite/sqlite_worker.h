// The half of the SQLite store that lives on its own thread: the database, its tables, the writing
// behind, and how it is doing. The queue, the ring of keys and health() are safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/clock.h"
#include "store/key_ring.h"
#include "store/run_queue.h"
#include "store/sign_in_ring.h"
#include "store/sqlite/idempotency_table.h"
#include "store/sqlite/project_quota.h"
#include "store/sqlite/project_usage.h"
#include "store/sqlite/run_table.h"
#include "store/sqlite/session_table.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/store_thread.h"
#include "store/sqlite/sweeper.h"
#include "store/sqlite/template_table.h"

namespace glovebox::store {

class SqliteWorker {
 public:
  static Result<std::unique_ptr<SqliteWorker>> open(StoreOptions options);
  // The last writing; the thread is gone by now.
  void close();

  // What is due: answers and revocations that could not be saved, a batch, a step of the sweep.
  std::chrono::milliseconds tick();

  Result<std::optional<std::string>> admin_key();
  Result<CreatedKey> create_key(const NewKey& key);
  Result<> revoke_key(const KeyId& id, std::int64_t revoked_ms);
  Result<SignIn> add_sign_in(const NewSignIn& wanted);
  // A failed removal is retried.
  Result<> remove_sign_ins(const std::vector<std::string>& digests);
  Result<> save_session(const SessionRecord& session);
  Result<> create_project(const std::string& name);
  Result<std::vector<std::string>> list_projects();
  Result<RunPage> list_runs(const std::string& project, const RunFilter& filter);
  // Everything in the queue.
  Result<> write_all();
  // One step; true: there is more to do.
  Result<bool> sweep(GcReport& report);
  Result<> set_max_pages(std::uint32_t pages);

  Health health() const;
  // On the store's thread: the last thing it tried to write failed.
  bool is_failing() const { return backoff_.count() != 0; }
  // On the store's thread: about so much was added; enough of it, and a sweep is due.
  void grew(std::uint64_t bytes) { unswept_bytes_ += bytes; }
  // On the store's thread: something is due earlier than the last tick said.
  bool is_tick_wanted();
  std::int64_t now_ms() const;

  // Passes a result on; an error that is the database's and not the asker's counts as ill health.
  template <class T>
  Result<T> noticed(Result<T> result) {
    if (!result) notice(result.error());
    return result;
  }

  const StoreOptions options;
  JumpFreeClock clock;
  Database db;
  KeyRing ring;
  SignInRing sign_ins;
  RunQueue queue;
  ProjectUsageTable usages;
  ProjectQuota quota;
  RunTable runs;
  IdempotencyTable requests;
  SessionTable sessions;
  SnapshotTable snapshots;
  TemplateTable templates;
  Sweeper sweeper;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  SqliteWorker(StoreOptions the_options, Database database);
  Result<> load();
  // True: there is another one to write now.
  Result<bool> write_batch();
  Result<> clear_log();
  Result<std::chrono::milliseconds> maintain(TimePoint now);
  Result<> retry_failed_writes();
  void notice(const Error& error);
  void committed();
  void recovered();

  // Revoked in memory, not yet on disk.
  std::vector<std::pair<KeyId, std::int64_t>> unsaved_revocations_;
  std::vector<std::string> unsaved_ends_;  // of sign-ins, likewise
  std::chrono::milliseconds backoff_{0};   // zero: all is well
  TimePoint retry_at_{};
  TimePoint next_sweep_{};
  TimePoint next_last_used_{};
  std::uint64_t unswept_bytes_ = 0;  // added since the last sweep
  // When the log is emptied, which has what sessions left that are over; and whether the tick
  // knows.
  std::optional<TimePoint> clear_log_at_;
  bool is_clearing_announced_ = false;

  mutable std::mutex health_mutex_;
  std::string ill_;  // why; empty: well
  std::optional<TimePoint> last_commit_;
  std::uint64_t written_ = 0;
};

}  // namespace glovebox::store
