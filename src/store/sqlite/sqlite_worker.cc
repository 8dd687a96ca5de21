#include "store/sqlite/sqlite_worker.h"

#include <algorithm>

#include "base/log.h"
#include "store/sqlite/key_table.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sign_in_table.h"

namespace glovebox::store {

namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kFirstBackoff{200};
constexpr milliseconds kLongestBackoff{2000};
constexpr milliseconds kIdleTick{60'000};
constexpr milliseconds kSweepEvery{1000};
constexpr std::uint64_t kSweepAfterBytes = 4u << 20;
// How long the log may still have the environment of a session that is over. Not at once: an
// emptied log costs two fsyncs, and sessions end in crowds.
constexpr milliseconds kClearLogAfter{500};

milliseconds until(Steady::time_point when, Steady::time_point now) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(when - now));
}

std::string pages_pragma(std::uint32_t pages) {
  // SQLite's own largest value stands for "no ceiling".
  return "PRAGMA max_page_count=" + std::to_string(pages != 0 ? pages : 4294967294u);
}

}  // namespace

Result<std::unique_ptr<SqliteWorker>> SqliteWorker::open(StoreOptions options) {
  TRY(Database db, open_database(options.directory));
  std::unique_ptr<SqliteWorker> worker(new SqliteWorker(std::move(options), std::move(db)));
  const std::string path = database_path(worker->options.directory);
  if (Result<> loaded = worker->load(); !loaded) {
    return fail(std::move(loaded.error()).context(path));
  }
  return worker;
}

SqliteWorker::SqliteWorker(StoreOptions the_options, Database database)
    : options(std::move(the_options)),
      db(std::move(database)),
      queue(options.queue_records, options.queue_bytes),
      usages(db),
      quota(usages, options.retention.project_quota(), options.retention.max_disk_bytes),
      runs(db),
      requests(db, quota, options.idempotency_age, options.kept_idempotent_answer_bytes),
      sessions(db, quota),
      snapshots(db, quota),
      templates(db, quota),
      sweeper(db, {runs, requests, sessions, usages}, options.retention, options.directory) {}

Result<> SqliteWorker::load() {
  TRY_OK(migrate(db, migrations(), now_ms()));
  TRY_OK(db.exec(pages_pragma(options.max_pages)));
  TRY_OK(insert_project(db, std::string(kDefaultProject), wall_clock_ms()));
  TRY(const std::vector<KeyRecord> keys, load_keys(db));
  for (const KeyRecord& key : keys) ring.add(key);
  TRY(const std::vector<SignIn> signed_in, load_sign_ins(db, now_ms()));
  for (const SignIn& sign_in : signed_in) sign_ins.add(sign_in);
  // A full disk is no reason not to start: runs work without the store's writing.
  if (Result<> done = requests.interrupt_running(); !done) {
    if (!is_disk_full(done.error())) return done;
    notice(done.error());
  }
  TRY(const std::int64_t last_seq, runs.load());
  queue.start_after(last_seq);
  // The log of the last process, or of the migration, may have what was removed since.
  if (Result<> done = sweeper.checkpoint(); !done) {
    if (!is_disk_full(done.error())) return done;
    notice(done.error());
  }
  return {};
}

void SqliteWorker::close() {
  Result<> done = retry_failed_writes();
  if (done) done = write_all();
  if (done) done = save_last_used(db, ring.take_used());
  if (done) done = sweeper.checkpoint();
  if (!done) {
    log::warn("store: records are lost",
              {{"records", std::to_string(queue.size())}, {"error", done.error().message()}});
  }
}

milliseconds SqliteWorker::tick() {
  const Steady::time_point now = Steady::now();
  if (now < retry_at_) return until(retry_at_, now);
  Result<milliseconds> next = maintain(now);
  if (next) {
    recovered();
    return *next;
  }
  notice(next.error());
  if (is_disk_full(next.error())) {
    // What we hold ourselves may be part of the trouble: the log, and runs beyond the ceiling.
    Result<> room = sweeper.checkpoint();
    Result<Sweeper::Swept> swept = sweeper.step(now_ms(), Sweeper::Effort::kLight);
    if (!room || !swept) log::debug("store: no space could be freed");
  }
  return until(retry_at_, Steady::now());
}

Result<milliseconds> SqliteWorker::maintain(TimePoint now) {
  milliseconds next = kIdleTick;
  TRY_OK(retry_failed_writes());
  if (const std::optional<TimePoint> since = queue.oldest_since()) {
    const bool full = queue.size() >= options.batch_records;
    const TimePoint due = *since + options.batch_interval;
    if (full || now >= due || backoff_.count() != 0) {
      TRY(const bool more, write_batch());
      next = more ? milliseconds(0) : options.batch_interval;
    } else {
      next = until(due, now);
    }
  } else if (backoff_.count() != 0) {
    // Nothing to write, so ask the disk: this changes nothing and must reach the log all the same.
    TRY_OK(db.exec("UPDATE schema_version SET applied_ms = applied_ms WHERE version = 1"));
  }
  if (now >= next_last_used_) {
    next_last_used_ = now + kIdleTick;
    TRY_OK(save_last_used(db, ring.take_used()));
  }
  if (now >= next_sweep_ || unswept_bytes_ >= kSweepAfterBytes) {
    unswept_bytes_ = 0;
    TRY(const Sweeper::Swept swept, sweeper.step(now_ms(), Sweeper::Effort::kLight));
    next_sweep_ = swept.more ? now : now + kSweepEvery;
    if (swept.more) next = milliseconds(0);
  }
  if (clear_log_at_ && now >= *clear_log_at_) TRY_OK(clear_log());
  if (clear_log_at_) next = std::min(next, until(*clear_log_at_, now));
  is_clearing_announced_ = true;
  return next;
}

Result<> SqliteWorker::clear_log() {
  TRY_OK(sweeper.checkpoint());
  clear_log_at_.reset();
  return {};
}

bool SqliteWorker::is_tick_wanted() {
  return unswept_bytes_ >= kSweepAfterBytes || (clear_log_at_ && !is_clearing_announced_);
}

Result<> SqliteWorker::save_session(const SessionRecord& session) {
  TRY_OK(sessions.update(session));
  grew(stored_bytes(session));
  if (is_over(session.state) && !clear_log_at_) {
    clear_log_at_ = Steady::now() + kClearLogAfter;
    is_clearing_announced_ = false;
  }
  return {};
}

Result<> SqliteWorker::retry_failed_writes() {
  while (!unsaved_revocations_.empty()) {
    const auto& [id, when_ms] = unsaved_revocations_.back();
    TRY_OK(save_revocation(db, id, when_ms));
    unsaved_revocations_.pop_back();
  }
  if (!unsaved_ends_.empty()) {
    TRY_OK(store::remove_sign_ins(db, unsaved_ends_));
    unsaved_ends_.clear();
  }
  return requests.save_pending();
}

Result<bool> SqliteWorker::write_batch() {
  const QueuedRuns batch = queue.oldest(options.batch_records, options.batch_bytes);
  if (batch.empty()) return false;
  TRY_OK(runs.insert(batch));
  queue.remove_through(batch.back()->seq);  // only now: until here they are found in the queue
  std::size_t bytes = 0;
  for (const auto& queued : batch) bytes += queued->bytes;
  grew(bytes);
  {
    const std::lock_guard lock(health_mutex_);
    written_ += batch.size();
  }
  committed();
  return queue.size() >= options.batch_records || bytes >= options.batch_bytes;
}

Result<> SqliteWorker::write_all() {
  while (queue.size() > 0) TRY_OK(write_batch());
  return {};
}

Result<std::optional<std::string>> SqliteWorker::admin_key() {
  if (ring.usable_admin_keys() > 0) return std::optional<std::string>();
  TRY(CreatedKey key, create_key(NewKey{.name = "admin", .role = KeyRole::kAdmin}));
  return std::optional<std::string>(std::move(key.secret));
}

Result<CreatedKey> SqliteWorker::create_key(const NewKey& key) {
  CreatedKey created{.record = {.project = key.project,
                                .name = key.name,
                                .role = key.role,
                                .limits = key.limits,
                                .created_ms = wall_clock_ms()},
                     .secret = make_secret()};
  created.record.digest = digest_of_secret(created.secret).value();
  TRY_OK(noticed(insert_key(db, created.record)));
  ring.add(created.record);
  committed();
  return created;
}

Result<> SqliteWorker::revoke_key(const KeyId& id, std::int64_t revoked_ms) {
  Result<> saved = noticed(save_revocation(db, id, revoked_ms));
  if (saved) {
    committed();
    return saved;
  }
  unsaved_revocations_.emplace_back(id, revoked_ms);
  return fail(std::move(saved.error())
                  .context("the key is refused from now on, but that is not on disk yet"));
}

Result<SignIn> SqliteWorker::add_sign_in(const NewSignIn& wanted) {
  SignIn sign_in{
      .digest = wanted.digest, .kind = wanted.kind, .key = wanted.key, .created_ms = now_ms()};
  sign_in.expires_ms = sign_in.created_ms + milliseconds(wanted.lifetime).count();
  const std::vector<std::string> others = sign_ins.add(sign_in);
  Result<> saved = noticed(insert_sign_in(db, sign_in, others));
  if (!saved) {
    // It is not answered, so it must not be known either; those that made room stay ended.
    sign_ins.take(sign_in.digest, sign_in.kind, sign_in.created_ms);
    unsaved_ends_.insert(unsaved_ends_.end(), others.begin(), others.end());
    return fail(std::move(saved.error()));
  }
  committed();
  return sign_in;
}

Result<> SqliteWorker::remove_sign_ins(const std::vector<std::string>& digests) {
  Result<> saved = noticed(store::remove_sign_ins(db, digests));
  if (saved) {
    committed();
    return saved;
  }
  unsaved_ends_.insert(unsaved_ends_.end(), digests.begin(), digests.end());
  return fail(std::move(saved.error())
                  .context("the session is refused from now on, but that is not on disk yet"));
}

Result<> SqliteWorker::create_project(const std::string& name) {
  return noticed(insert_project(db, name, wall_clock_ms()));
}

Result<std::vector<std::string>> SqliteWorker::list_projects() { return list_project_names(db); }

Result<RunPage> SqliteWorker::list_runs(const std::string& project, const RunFilter& filter) {
  if (filter.limit == 0 || filter.limit > kMaxRunPage) {
    return fail(Errc::kInvalidArgument, "limit: must be 1 to " + std::to_string(kMaxRunPage));
  }
  std::int64_t before_seq = 0;
  if (!filter.cursor.empty()) {
    TRY(const RunCursor cursor, parse_cursor(filter.cursor));
    before_seq = cursor.seq;
  }
  // First those that still wait: they are newer than all on disk. Nothing leaves the queue
  // meanwhile, because that happens on this thread. One more than asked for tells if there is a
  // next page.
  const std::size_t wanted = filter.limit + 1;
  std::vector<std::pair<std::int64_t, RunRecord>> found;
  for (const auto& queued : queue.list(project, filter, before_seq, wanted)) {
    found.emplace_back(queued->seq, queued->run);
    RunRecord& run = found.back().second;
    run.out.clear();
    run.err.clear();
    run.answer.clear();
    run.code.clear();
  }
  std::optional<RunCursor> next;
  if (found.size() < wanted) {
    TRY(RunTable::Listed stored, runs.list(project, filter, before_seq, wanted - found.size()));
    std::move(stored.runs.begin(), stored.runs.end(), std::back_inserter(found));
    next = std::move(stored.ended_at);
  }
  if (found.size() > filter.limit) {
    found.resize(filter.limit);
    next = RunCursor{.seq = found.back().first, .run = found.back().second.id.str()};
  }
  RunPage page;
  if (next) page.next_cursor = encode_cursor(*next);
  for (auto& [seq, run] : found) page.runs.push_back(std::move(run));
  return page;
}

Result<bool> SqliteWorker::sweep(GcReport& report) {
  TRY_OK(noticed(write_all()));
  TRY(const Sweeper::Swept swept, noticed(sweeper.step(now_ms(), Sweeper::Effort::kThorough)));
  report.runs += swept.runs;
  report.idempotent_entries += swept.idempotent_entries;
  report.sessions += swept.sessions;
  if (swept.more) return true;
  TRY_OK(sweeper.checkpoint());
  return false;
}

Result<> SqliteWorker::set_max_pages(std::uint32_t pages) { return db.exec(pages_pragma(pages)); }

Health SqliteWorker::health() const {
  Health health{.queued = queue.size(),
                .dropped = queue.dropped(),
                .runs = runs.runs(),
                .bytes_used = files_bytes(options.directory)};
  const std::lock_guard lock(health_mutex_);
  health.ok = ill_.empty();
  health.reason = ill_;
  health.written = written_;
  if (last_commit_) {
    health.last_commit_age =
        std::chrono::duration_cast<milliseconds>(Steady::now() - *last_commit_);
  }
  return health;
}

std::int64_t SqliteWorker::now_ms() const {
  return options.clock_ms ? options.clock_ms() : clock.now_ms();
}

void SqliteWorker::notice(const Error& error) {
  // Errors of the caller do not indicate a problem of the database.
  if (error.code() == Errc::kInvalidArgument || error.code() == Errc::kNotFound ||
      error.code() == Errc::kConflict || is_over_quota(error)) {
    return;
  }
  // Failures while one waits already do not put the next attempt off.
  if (const TimePoint now = Steady::now(); now >= retry_at_) {
    backoff_ = std::clamp(backoff_ * 2, kFirstBackoff, kLongestBackoff);
    retry_at_ = now + backoff_;
  }
  const std::string reason = is_disk_full(error) ? "store: disk full" : error.message();
  const std::lock_guard lock(health_mutex_);
  if (ill_ == reason) return;
  ill_ = reason;
  log::warn("store cannot write", {{"error", error.message()}});
}

void SqliteWorker::committed() {
  const std::lock_guard lock(health_mutex_);
  last_commit_ = Steady::now();
}

void SqliteWorker::recovered() {
  backoff_ = milliseconds(0);
  const std::lock_guard lock(health_mutex_);
  if (ill_.empty()) return;
  ill_.clear();
  log::warn("store writes again");
}

}  // namespace glovebox::store
