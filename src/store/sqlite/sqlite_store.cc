// The calls of the server's thread, each handed to the store's thread; what that thread does is in
// sqlite_worker.cc.
#include "store/sqlite/sqlite_store.h"

#include <future>

#include "store/clock.h"
#include "store/sqlite/sqlite_worker.h"

namespace glovebox::store {

namespace {
constexpr const char* kServer = "";  // not a project's name
}

class SqliteStore::Impl {
 public:
  explicit Impl(std::unique_ptr<SqliteWorker> the_worker)
      : worker(std::move(the_worker)),
        thread(worker->options.max_jobs, worker->options.post,
               [w = worker.get()] { return w->tick(); }) {}

  // Work on the database, on its thread, in the turn of a project.
  template <class T>
  void ask_for(const std::string& project, std::function<Result<T>(SqliteWorker&)> work,
               Callback<T> done) {
    std::function<Result<T>()> job = [this, work = std::move(work)] {
      Result<T> result = work(*worker);
      // Whatever made it ill, the tick finds out when it is well again.
      if (worker->is_failing() || worker->is_tick_wanted()) thread.wake();
      return result;
    };
    thread.ask<T>(project, std::move(job), std::move(done));
  }

  // Of a key; the server's own turn if there is none.
  std::string project_of(const KeyId& key) const {
    const std::optional<KeyRecord> record = worker->ring.find(key);
    return record ? record->project : std::string(kServer);
  }

  // The same in the server's own turn.
  template <class T>
  void ask(std::function<Result<T>(SqliteWorker&)> work, Callback<T> done) {
    ask_for<T>(kServer, std::move(work), std::move(done));
  }

  // The same, and waits for it: only for the program's start.
  template <class T>
  Result<T> wait_for(std::function<Result<T>(SqliteWorker&)> work) {
    std::promise<Result<T>> promise;
    const bool taken = thread.run(kServer, [&] { promise.set_value(work(*worker)); });
    if (!taken) return fail(Errc::kResourceExhausted, "store: too many requests are waiting");
    return promise.get_future().get();
  }

  // One step of the sweep, then the others' turn, until nothing is left.
  void sweep_on(std::shared_ptr<GcReport> report, Callback<GcReport> done) {
    const bool taken = thread.run(kServer, [this, report, done] {
      Result<bool> more = worker->sweep(*report);
      if (!more) return thread.answer<GcReport>(done, fail(std::move(more.error())));
      if (*more) return sweep_on(report, done);
      report->bytes_after = files_bytes(worker->options.directory);
      thread.answer<GcReport>(done, *report);
    });
    if (!taken) {
      thread.answer<GcReport>(
          done, fail(Errc::kResourceExhausted, "store: too busy to remove old records"));
    }
  }

  std::unique_ptr<SqliteWorker> worker;
  StoreThread thread;  // last: it uses the worker
};

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(StoreOptions options) {
  Result<std::unique_ptr<SqliteWorker>> worker = SqliteWorker::open(std::move(options));
  if (!worker) return fail(std::move(worker.error()).context("store"));
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::make_unique<Impl>(std::move(*worker))));
}

SqliteStore::SqliteStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SqliteStore::~SqliteStore() {
  impl_->thread.stop();  // the jobs that wait are done; from here on this is the only thread
  impl_->worker->close();
}

std::optional<Principal> SqliteStore::authenticate(std::string_view presented) {
  return impl_->worker->ring.authenticate(presented, wall_clock_ms());
}

Result<std::optional<std::string>> SqliteStore::ensure_admin_key() {
  return impl_->wait_for<std::optional<std::string>>([](SqliteWorker& w) { return w.admin_key(); });
}

void SqliteStore::create_key(NewKey key, Callback<CreatedKey> done) {
  if (Result<> good = check_new_key(key); !good) {
    return impl_->thread.answer<CreatedKey>(done, fail(std::move(good.error())));
  }
  impl_->ask<CreatedKey>([key = std::move(key)](SqliteWorker& w) { return w.create_key(key); },
                         std::move(done));
}

void SqliteStore::list_keys(std::optional<std::string> project,
                            Callback<std::vector<KeyRecord>> done) {
  impl_->thread.answer<std::vector<KeyRecord>>(done, impl_->worker->ring.list(project));
}

void SqliteStore::revoke_key(std::optional<std::string> project, KeyId id, Callback<> done) {
  KeyRing& ring = impl_->worker->ring;
  const std::optional<KeyRecord> key = ring.find(id);
  if (!key || (project && key->project != *project)) {
    return impl_->thread.answer<void>(done, fail(Errc::kNotFound, "there is no such key"));
  }
  if (key->revoked_ms) return impl_->thread.answer<void>(done, {});
  if (key->role == KeyRole::kAdmin && ring.usable_admin_keys() == 1) {
    return impl_->thread.answer<void>(
        done, fail(Errc::kPolicy, "this is the last admin key: create another one first"));
  }
  // Here and not on the store's thread: the next request with this key is refused already.
  const std::int64_t now_ms = wall_clock_ms();
  ring.revoke(id, now_ms);
  impl_->worker->sign_ins.take_of(id);
  impl_->ask<void>([id, now_ms](SqliteWorker& w) { return w.revoke_key(id, now_ms); },
                   std::move(done));
}

void SqliteStore::add_sign_in(NewSignIn sign_in, Callback<SignIn> done) {
  const std::string project = impl_->project_of(sign_in.key);
  impl_->ask_for<SignIn>(
      project, [sign_in = std::move(sign_in)](SqliteWorker& w) { return w.add_sign_in(sign_in); },
      std::move(done));
}

std::optional<Store::SignedIn> SqliteStore::find_session(const std::string& digest) {
  SqliteWorker& worker = *impl_->worker;
  auto found = worker.sign_ins.find(digest, SignInKind::kSession, worker.now_ms());
  if (!found) return std::nullopt;
  auto who = worker.ring.principal_of(found->key, wall_clock_ms());
  if (!who) return std::nullopt;
  return SignedIn{std::move(*found), std::move(*who)};
}

void SqliteStore::end_session(const std::string& digest, Callback<> done) {
  SqliteWorker& worker = *impl_->worker;
  // Here and not on the store's thread: the next request with this cookie is refused already.
  const auto ended = worker.sign_ins.take(digest, SignInKind::kSession, worker.now_ms());
  if (!ended) return impl_->thread.answer<void>(done, {});
  impl_->ask_for<void>(
      impl_->project_of(ended->key),
      [digest](SqliteWorker& w) { return w.remove_sign_ins({digest}); }, std::move(done));
}

void SqliteStore::take_link(const std::string& digest, Callback<SignedIn> done) {
  SqliteWorker& worker = *impl_->worker;
  const Error gone(Errc::kNotFound, "this link was used, has expired, or never existed");
  auto found = worker.sign_ins.take(digest, SignInKind::kLink, worker.now_ms());
  if (!found) return impl_->thread.answer<SignedIn>(done, fail(Error(gone)));
  auto who = worker.ring.principal_of(found->key, wall_clock_ms());
  if (!who) return impl_->thread.answer<SignedIn>(done, fail(Error(gone)));
  const std::string project = who->project;
  impl_->ask_for<SignedIn>(
      project,
      [digest,
       taken = SignedIn{std::move(*found), std::move(*who)}](SqliteWorker& w) -> Result<SignedIn> {
        TRY_OK(w.remove_sign_ins({digest}));
        return taken;
      },
      std::move(done));
}

void SqliteStore::create_project(std::string name, Callback<> done) {
  if (!is_project_name(name)) {
    return impl_->thread.answer<void>(
        done, fail(Errc::kInvalidArgument,
                   "a project name must be 1 to 63 of a-z, 0-9 and -, and not begin with -"));
  }
  impl_->ask<void>([name = std::move(name)](SqliteWorker& w) { return w.create_project(name); },
                   std::move(done));
}

void SqliteStore::list_projects(Callback<std::vector<std::string>> done) {
  impl_->ask<std::vector<std::string>>([](SqliteWorker& w) { return w.list_projects(); },
                                       std::move(done));
}

void SqliteStore::add_run(RunRecord run) {
  const StoreOptions& options = impl_->worker->options;
  run.out_cut = cut_text(run.out, options.kept_output_bytes) || run.out_cut;
  run.err_cut = cut_text(run.err, options.kept_output_bytes) || run.err_cut;
  cut_text(run.error_message, options.kept_output_bytes);
  run.code_cut = cut_text(run.code, options.kept_output_bytes) || run.code_cut;
  if (run.answer.size() > options.kept_answer_bytes) {
    run.answer = std::string();  // half a JSON text is of no use
    run.answer_cut = true;
  }
  const std::optional<std::size_t> waiting = impl_->worker->queue.add(
      std::move(run), impl_->worker->now_ms(), std::chrono::steady_clock::now());
  if (!waiting) return;
  // The first one starts the batch's time, a full batch ends it; the others do not wake the thread.
  if (*waiting == 1 || *waiting == options.batch_records) impl_->thread.wake();
}

void SqliteStore::get_run(std::string project, RunId id, Callback<RunRecord> done) {
  if (const auto queued = impl_->worker->queue.find(project, id)) {
    return impl_->thread.answer<RunRecord>(done, queued->run);
  }
  const std::string owner = project;
  impl_->ask_for<RunRecord>(
      owner,
      [project = std::move(project), id = std::move(id)](SqliteWorker& w) {
        return w.runs.find(project, id);
      },
      std::move(done));
}

void SqliteStore::list_runs(std::string project, RunFilter filter, Callback<RunPage> done) {
  const std::string owner = project;
  impl_->ask_for<RunPage>(
      owner,
      [project = std::move(project), filter = std::move(filter)](SqliteWorker& w) {
        return w.list_runs(project, filter);
      },
      std::move(done));
}

void SqliteStore::begin_idempotent(IdempotentRequest request, Callback<IdempotentEntry> done) {
  const std::string owner = request.project;
  impl_->ask_for<IdempotentEntry>(
      owner,
      [request = std::move(request)](SqliteWorker& w) {
        return w.noticed(w.requests.begin(request, w.now_ms()));
      },
      std::move(done));
}

void SqliteStore::finish_idempotent(std::string project, std::string key, int status,
                                    std::string answer, Callback<> done) {
  const std::string owner = project;
  impl_->ask_for<void>(
      owner,
      [project = std::move(project), key = std::move(key), status,
       answer = std::move(answer)](SqliteWorker& w) mutable {
        w.grew(answer.size());
        return w.noticed(w.requests.finish(project, key, status, std::move(answer)));
      },
      std::move(done));
}

void SqliteStore::forget_idempotent(std::string project, std::string key, Callback<> done) {
  const std::string owner = project;
  impl_->ask_for<void>(
      owner,
      [project = std::move(project), key = std::move(key)](SqliteWorker& w) {
        return w.noticed(w.requests.forget(project, key));
      },
      std::move(done));
}

void SqliteStore::interrupt_idempotent(std::string project, std::string key, Callback<> done) {
  const std::string owner = project;
  impl_->ask_for<void>(
      owner,
      [project = std::move(project), key = std::move(key)](SqliteWorker& w) {
        return w.noticed(w.requests.interrupt(project, key));
      },
      std::move(done));
}

void SqliteStore::add_session(SessionRecord session, Callback<std::int64_t> done) {
  const std::string owner = session.project;
  impl_->ask_for<std::int64_t>(
      owner,
      [session = std::move(session)](SqliteWorker& w) {
        w.grew(stored_bytes(session));
        return w.noticed(w.sessions.insert(session));
      },
      std::move(done));
}

void SqliteStore::save_session(SessionRecord session, Callback<> done) {
  const std::string owner = session.project;
  impl_->ask_for<void>(
      owner,
      [session = std::move(session)](SqliteWorker& w) {
        return w.noticed(w.save_session(session));
      },
      std::move(done));
}

void SqliteStore::get_session(std::string project, SandboxId id, Callback<SessionRecord> done) {
  const std::string owner = project;
  impl_->ask_for<SessionRecord>(
      owner,
      [project = std::move(project), id = std::move(id)](SqliteWorker& w) {
        return w.sessions.find(project, id);
      },
      std::move(done));
}

void SqliteStore::list_sessions(std::string project, SessionFilter filter,
                                Callback<SessionPage> done) {
  const std::string owner = project;
  impl_->ask_for<SessionPage>(
      owner,
      [project = std::move(project), filter = std::move(filter)](SqliteWorker& w) {
        return w.sessions.list(project, filter);
      },
      std::move(done));
}

void SqliteStore::add_snapshot(SnapshotRecord snapshot, Callback<> done) {
  const std::string owner = snapshot.project;
  impl_->ask_for<void>(
      owner,
      [snapshot = std::move(snapshot)](SqliteWorker& w) {
        return w.noticed(w.snapshots.insert(snapshot));
      },
      std::move(done));
}

void SqliteStore::remove_snapshot(SnapshotId id, Callback<> done) {
  impl_->ask<void>(
      [id = std::move(id)](SqliteWorker& w) { return w.noticed(w.snapshots.remove(id)); },
      std::move(done));
}

Result<std::vector<SessionRecord>> SqliteStore::living_sessions() {
  return impl_->wait_for<std::vector<SessionRecord>>(
      [](SqliteWorker& w) { return w.sessions.living(); });
}

Result<std::vector<SnapshotRecord>> SqliteStore::all_snapshots() {
  return impl_->wait_for<std::vector<SnapshotRecord>>(
      [](SqliteWorker& w) { return w.snapshots.all(); });
}

void SqliteStore::set_snapshot_layer(SnapshotId id, std::string layer, Callback<> done) {
  impl_->ask<void>([id = std::move(id), layer = std::move(layer)](
                       SqliteWorker& w) { return w.noticed(w.snapshots.set_layer(id, layer)); },
                   std::move(done));
}

void SqliteStore::add_template(TemplateRecord made, Callback<> done) {
  const std::string owner = made.project;
  impl_->ask_for<void>(
      owner,
      [made = std::move(made)](SqliteWorker& w) { return w.noticed(w.templates.insert(made)); },
      std::move(done));
}

void SqliteStore::remove_template(std::string id, Callback<> done) {
  impl_->ask<void>(
      [id = std::move(id)](SqliteWorker& w) { return w.noticed(w.templates.remove(id)); },
      std::move(done));
}

void SqliteStore::set_template_layer(std::string id, std::string layer, Callback<> done) {
  impl_->ask<void>([id = std::move(id), layer = std::move(layer)](
                       SqliteWorker& w) { return w.noticed(w.templates.set_layer(id, layer)); },
                   std::move(done));
}

Result<std::vector<TemplateRecord>> SqliteStore::all_templates() {
  return impl_->wait_for<std::vector<TemplateRecord>>(
      [](SqliteWorker& w) { return w.templates.all(); });
}

void SqliteStore::flush(Callback<> done) {
  impl_->ask<void>([](SqliteWorker& w) { return w.noticed(w.write_all()); }, std::move(done));
}

void SqliteStore::gc(Callback<GcReport> done) {
  auto report = std::make_shared<GcReport>();
  report->bytes_before = bytes_used();
  impl_->sweep_on(std::move(report), std::move(done));
}

Health SqliteStore::health() const {
  Health health = impl_->worker->health();
  health.jobs = impl_->thread.waiting();
  return health;
}

std::uint64_t SqliteStore::bytes_used() const {
  return files_bytes(impl_->worker->options.directory);
}

void SqliteStore::set_max_pages(std::uint32_t pages, Callback<> done) {
  impl_->ask<void>([pages](SqliteWorker& w) { return w.set_max_pages(pages); }, std::move(done));
}

}  // namespace glovebox::store
