// What the server remembers: keys, projects, runs, sessions, idempotent requests. One interface, so
// that a database server can take SQLite's place for a fleet; one test suite for whatever
// implements it.
//
// Called on the server's thread. What takes a Callback answers later, on that same thread; the
// rest answers at once from memory. Every object has a project and is only found by naming it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/callback.h"
#include "store/key.h"
#include "store/run_record.h"
#include "store/session_record.h"
#include "store/sign_in.h"
#include "store/template_record.h"

namespace glovebox::store {

enum class IdempotentState : std::uint8_t {
  kFresh = 1,    // recorded, durably; the caller runs it and then calls finish_idempotent
  kRunning,      // the first request with this key is still at work
  kDone,         // `status` and `answer` are those of the first request
  kInterrupted,  // it was cut short while it ran: whether it had effects is unknown
  kMismatch,     // the same key with another body, or at another route
};

struct IdempotentRequest {
  std::string project{};
  std::string key{};          // the client's, 1 to 255 bytes
  std::string route{};        // method and path: "POST /v1/run"
  std::string body_sha256{};  // as hex
  std::string run_id{};
};

struct IdempotentEntry {
  IdempotentState state = IdempotentState::kFresh;
  int status = 0;           // HTTP
  std::string answer{};     // the whole body
  std::string run_id{};     // of the first request
  bool answer_cut = false;  // there was no room to keep it; kDone all the same
};

struct Health {
  bool ok = true;
  std::string reason{};          // "store: disk full"
  std::size_t queued = 0;        // run records that wait to be written
  std::uint64_t dropped = 0;     // run records lost to a full queue, since the start
  std::uint64_t written = 0;     // run records committed, since the start
  std::uint64_t jobs = 0;        // requests that wait for the store's thread
  std::uint64_t runs = 0;        // kept on disk
  std::uint64_t bytes_used = 0;  // on disk
  // Since the last commit; absent before the first one.
  std::optional<std::chrono::milliseconds> last_commit_age{};
};

struct GcReport {
  std::uint64_t runs = 0;                // removed
  std::uint64_t idempotent_entries = 0;  // removed
  std::uint64_t sessions = 0;            // records of ended ones, removed
  std::uint64_t bytes_before = 0;        // on disk
  std::uint64_t bytes_after = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // Keys. Created and revoked durably before the answer; a revoked key stops working at once.

  virtual std::optional<Principal> authenticate(std::string_view presented) = 0;
  // The secret of a new admin key if there is no usable one, as at the first start. Blocks: only
  // for the program's start.
  virtual Result<std::optional<std::string>> ensure_admin_key() = 0;
  virtual void create_key(NewKey key, Callback<CreatedKey> done) = 0;
  // Of one project, or of all. Revoked ones too, oldest first.
  virtual void list_keys(std::optional<std::string> project,
                         Callback<std::vector<KeyRecord>> done) = 0;
  // kNotFound also when the key is another project's; kPolicy for the last usable admin key.
  virtual void revoke_key(std::optional<std::string> project, KeyId id, Callback<> done) = 0;

  // The console's sessions and links. Refused at once when they or their keys end.

  // Durable before it is answered. Of too many of one key, the oldest ends.
  virtual void add_sign_in(NewSignIn sign_in, Callback<SignIn> done) = 0;
  // From memory; nothing: there is none, it has expired, or its key was revoked.
  struct SignedIn {
    SignIn sign_in;
    Principal who;
  };
  virtual std::optional<SignedIn> find_session(const std::string& digest) = 0;
  virtual void end_session(const std::string& digest, Callback<> done) = 0;
  // A link that is taken is gone, on disk as well, before this answers. kNotFound.
  virtual void take_link(const std::string& digest, Callback<SignedIn> done) = 0;

  // Projects. "default" is always there; create_key makes one when needed.

  virtual void create_project(std::string name, Callback<> done) = 0;
  virtual void list_projects(Callback<std::vector<std::string>> done) = 0;

  // Runs. Written behind in batches: a crash loses the last batch, at most 200 ms or 256 records.

  // Never blocks. When records cannot be written for so long that the queue is full, the record is
  // dropped and counted.
  virtual void add_run(RunRecord run) = 0;
  // Finds what was added a moment ago, too. kNotFound.
  virtual void get_run(std::string project, RunId id, Callback<RunRecord> done) = 0;
  virtual void list_runs(std::string project, RunFilter filter, Callback<RunPage> done) = 0;

  // Idempotent requests, remembered for 24 hours, whatever other projects store.

  // kFresh is on disk (fsync) when it is answered. An error means nothing was recorded and nothing
  // may run; is_over_quota() (over_quota.h) that the project has no room for another one.
  virtual void begin_idempotent(IdempotentRequest request, Callback<IdempotentEntry> done) = 0;
  // Remembered in memory and retried if it cannot be written now; `done` may be empty.
  virtual void finish_idempotent(std::string project, std::string key, int status,
                                 std::string answer, Callback<> done) = 0;
  // The run never started (refused, full): the next request with this key is fresh again.
  virtual void forget_idempotent(std::string project, std::string key, Callback<> done) = 0;
  // It was cut short and has no answer. Remembered and retried like finish_idempotent.
  virtual void interrupt_idempotent(std::string project, std::string key, Callback<> done) = 0;

  // Sessions and snapshots. Written before they are answered.

  // Its place in the order of sessions. is_over_quota() when its project has no room for it.
  virtual void add_session(SessionRecord session, Callback<std::int64_t> done) = 0;
  // State, reason, metadata and times. kConflict when it is over, or gone: that is for good.
  // is_over_quota() when its metadata grows and its project has no room for that. At its end its
  // environment is removed, from the files within a second or so, and its metadata cut
  // (reduce_to_ended).
  virtual void save_session(SessionRecord session, Callback<> done) = 0;
  // kNotFound, also for another project's. "*" is every project.
  virtual void get_session(std::string project, SandboxId id, Callback<SessionRecord> done) = 0;
  virtual void list_sessions(std::string project, SessionFilter filter,
                             Callback<SessionPage> done) = 0;
  virtual void add_snapshot(SnapshotRecord snapshot, Callback<> done) = 0;
  virtual void remove_snapshot(SnapshotId id, Callback<> done) = 0;
  // The layer of its packages is another one now. kNotFound.
  virtual void set_snapshot_layer(SnapshotId id, std::string layer, Callback<> done) = 0;
  // What there was when the last server ended. Block: only for the program's start.
  virtual Result<std::vector<SessionRecord>> living_sessions() = 0;
  virtual Result<std::vector<SnapshotRecord>> all_snapshots() = 0;

  // Templates that were made over HTTP. On disk (fsync) when they are answered.

  virtual void add_template(TemplateRecord made, Callback<> done) = 0;
  virtual void remove_template(std::string id, Callback<> done) = 0;
  // As set_snapshot_layer.
  virtual void set_template_layer(std::string id, std::string layer, Callback<> done) = 0;
  // Blocks: only for the program's start.
  virtual Result<std::vector<TemplateRecord>> all_templates() = 0;

  // Upkeep.

  // Everything that was added before this is on disk when it answers ok.
  virtual void flush(Callback<> done) = 0;
  // Applies the retention to its end; it is also applied all the time, in small steps.
  virtual void gc(Callback<GcReport> done) = 0;
  virtual Health health() const = 0;
  virtual std::uint64_t bytes_used() const = 0;
};

}  // namespace glovebox::store
