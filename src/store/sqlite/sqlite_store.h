// The embedded store: one SQLite file in the data directory, used by one thread of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "store/store.h"

namespace glovebox::store {

struct Retention {
  // Zero: no such limit.
  std::chrono::seconds max_age = std::chrono::hours(24 * 7);
  std::uint64_t max_runs = 100'000;          // and records of ended sessions, as many
  std::uint64_t max_run_bytes = 1ull << 30;  // of what is kept of the runs
  // Of the database's files; records of the project that uses most go first.
  std::uint64_t max_disk_bytes = 2ull << 30;
  // Of all that is kept for one project: its oldest records go first, and then it may add no more
  // of what cannot be removed (project_quota.h). Zero: a quarter of max_disk_bytes.
  std::uint64_t max_project_bytes = 0;

  std::uint64_t project_quota() const {
    return max_project_bytes != 0 ? max_project_bytes : max_disk_bytes / 4;
  }
};

struct StoreOptions {
  std::string directory{};  // made if missing, 0700
  // Where callbacks run. Empty: on the store's thread (tests, tools).
  Post post{};
  Retention retention{};
  std::size_t kept_output_bytes = 16u << 10;   // of stdout and of stderr, each
  std::size_t kept_answer_bytes = 256u << 10;  // of a run's answer; a longer one is left out
  // Of an idempotent request's answer; a longer one is left out and the entry says so.
  std::size_t kept_idempotent_answer_bytes = 32u << 20;
  std::chrono::seconds idempotency_age = std::chrono::hours(24);

  std::size_t queue_records = 20'000;
  std::size_t queue_bytes = 64u << 20;
  std::size_t batch_records = 256;
  std::size_t batch_bytes = 8u << 20;  // a batch ends with the record that reaches this
  std::chrono::milliseconds batch_interval{200};
  std::size_t max_jobs = 4096;

  // A hard ceiling of the database file in pages of 4 KB; zero: none. Reaching it is a full disk.
  std::uint32_t max_pages = 0;
  // Milliseconds since 1970 for ages and the order of runs; empty: a clock that starts at the wall
  // clock and then ignores its jumps.
  std::function<std::int64_t()> clock_ms{};
};

class SqliteStore final : public Store {
 public:
  // Blocks, at the program's start. Errors are plain: a newer schema, a file that is no database of
  // ours, a corrupt one; the file is left as it is then. Start it after the process has taken its
  // final user, because it starts a thread.
  static Result<std::unique_ptr<SqliteStore>> open(StoreOptions options);
  // Writes what is queued, if that works, and answers every request that waits.
  ~SqliteStore() override;

  std::optional<Principal> authenticate(std::string_view presented) override;
  Result<std::optional<std::string>> ensure_admin_key() override;
  void create_key(NewKey key, Callback<CreatedKey> done) override;
  void list_keys(std::optional<std::string> project,
                 Callback<std::vector<KeyRecord>> done) override;
  void revoke_key(std::optional<std::string> project, KeyId id, Callback<> done) override;
  void add_sign_in(NewSignIn sign_in, Callback<SignIn> done) override;
  std::optional<SignedIn> find_session(const std::string& digest) override;
  void end_session(const std::string& digest, Callback<> done) override;
  void take_link(const std::string& digest, Callback<SignedIn> done) override;
  void create_project(std::string name, Callback<> done) override;
  void list_projects(Callback<std::vector<std::string>> done) override;
  void add_run(RunRecord run) override;
  void get_run(std::string project, RunId id, Callback<RunRecord> done) override;
  void list_runs(std::string project, RunFilter filter, Callback<RunPage> done) override;
  void begin_idempotent(IdempotentRequest request, Callback<IdempotentEntry> done) override;
  void finish_idempotent(std::string project, std::string key, int status, std::string answer,
                         Callback<> done) override;
  void forget_idempotent(std::string project, std::string key, Callback<> done) override;
  void interrupt_idempotent(std::string project, std::string key, Callback<> done) override;
  void add_session(SessionRecord session, Callback<std::int64_t> done) override;
  void save_session(SessionRecord session, Callback<> done) override;
  void get_session(std::string project, SandboxId id, Callback<SessionRecord> done) override;
  void list_sessions(std::string project, SessionFilter filter,
                     Callback<SessionPage> done) override;
  void add_snapshot(SnapshotRecord snapshot, Callback<> done) override;
  void remove_snapshot(SnapshotId id, Callback<> done) override;
  void set_snapshot_layer(SnapshotId id, std::string layer, Callback<> done) override;
  Result<std::vector<SessionRecord>> living_sessions() override;
  Result<std::vector<SnapshotRecord>> all_snapshots() override;
  void add_template(TemplateRecord made, Callback<> done) override;
  void remove_template(std::string id, Callback<> done) override;
  void set_template_layer(std::string id, std::string layer, Callback<> done) override;
  Result<std::vector<TemplateRecord>> all_templates() override;
  void flush(Callback<> done) override;
  void gc(Callback<GcReport> done) override;
  Health health() const override;
  std::uint64_t bytes_used() const override;

  // Moves StoreOptions::max_pages while it runs.
  void set_max_pages(std::uint32_t pages, Callback<> done);

 private:
  class Impl;
  explicit SqliteStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glovebox::store
