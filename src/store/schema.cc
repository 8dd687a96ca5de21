#include "store/schema.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/unique_fd.h"

namespace glovebox::store {

namespace {

// "GBXS": in the file's header, so that another program's database is never taken for ours.
constexpr std::int64_t kApplicationId = 0x47425853;

constexpr Migration kMigrations[] = {
    {"keys, projects, runs, idempotent requests", R"sql(
CREATE TABLE projects(
  name TEXT PRIMARY KEY NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE keys(
  id TEXT PRIMARY KEY NOT NULL,
  project TEXT NOT NULL REFERENCES projects(name),
  name TEXT NOT NULL,
  role INTEGER NOT NULL,
  digest BLOB NOT NULL UNIQUE CHECK(length(digest) = 32),
  max_in_flight INTEGER NOT NULL,
  runs_per_minute INTEGER NOT NULL,
  max_memory_bytes INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  revoked_ms INTEGER,
  last_used_ms INTEGER
) STRICT;

-- seq is the order of runs and their age: microseconds of a clock that never goes back.
CREATE TABLE runs(
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  request_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  template TEXT NOT NULL,
  profile TEXT NOT NULL,
  language TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  finished_ms INTEGER NOT NULL,
  status INTEGER NOT NULL,
  exit_code INTEGER NOT NULL,
  wall_us INTEGER NOT NULL,
  cpu_us INTEGER NOT NULL,
  peak_memory INTEGER,
  warm INTEGER NOT NULL,
  engine TEXT NOT NULL,
  grade TEXT NOT NULL,
  error_code TEXT NOT NULL,
  error_message TEXT NOT NULL,
  cut INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_by_project ON runs(project, seq);

-- Apart from the runs, so that lists do not read past what they do not show.
CREATE TABLE run_bodies(
  seq INTEGER PRIMARY KEY REFERENCES runs(seq) ON DELETE CASCADE,
  out BLOB NOT NULL,
  err BLOB NOT NULL,
  answer BLOB NOT NULL
) STRICT;

CREATE TABLE idempotency(
  project TEXT NOT NULL,
  key TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  state INTEGER NOT NULL,
  status INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  answer_cut INTEGER NOT NULL,
  answer BLOB NOT NULL,
  UNIQUE(project, key)
) STRICT;
CREATE INDEX idempotency_by_age ON idempotency(created_ms);
)sql"},
    {"sessions, snapshots", R"sql(
-- A number is never used twice, so a cursor stays where it was.
CREATE TABLE sessions(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  key_id TEXT NOT NULL,
  template TEXT NOT NULL,
  snapshot TEXT NOT NULL,
  state INTEGER NOT NULL,
  reason TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  metadata BLOB NOT NULL,
  env BLOB NOT NULL,
  on_timeout INTEGER NOT NULL,
  ttl_s INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL,
  engine INTEGER NOT NULL,
  walls INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  disk_bytes INTEGER NOT NULL,
  disk_inodes INTEGER NOT NULL,
  pids INTEGER NOT NULL,
  cpu_thousandths INTEGER NOT NULL,
  limits_asked_for INTEGER NOT NULL,
  profile TEXT NOT NULL,
  port_token TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_by_project ON sessions(project, seq);
CREATE INDEX sessions_by_end ON sessions(state, ended_ms);

CREATE TABLE snapshots(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  sandbox TEXT NOT NULL,
  template TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  files INTEGER NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT;
)sql"},
    {"templates made over HTTP", R"sql(
CREATE TABLE templates(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  base TEXT NOT NULL,
  description TEXT NOT NULL,
  key_id TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  preload BLOB NOT NULL,
  env BLOB NOT NULL,
  wall_ms INTEGER NOT NULL,
  cpu_ms INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  disk_bytes INTEGER NOT NULL,
  pids INTEGER NOT NULL,
  cpu_thousandths INTEGER NOT NULL,
  limits_asked_for INTEGER NOT NULL,
  UNIQUE(project, name)
) STRICT;

-- Of a template that its project made, the id: a name can be given again to another one.
ALTER TABLE sessions ADD COLUMN template_id TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshots ADD COLUMN template_id TEXT NOT NULL DEFAULT '';
)sql"},
    {"what sessions may reach", R"sql(
ALTER TABLE sessions ADD COLUMN net TEXT NOT NULL DEFAULT '"none"';
)sql"},
    {"packages, templates of snapshots", R"sql(
ALTER TABLE templates ADD COLUMN dependencies BLOB NOT NULL DEFAULT x'';
ALTER TABLE templates ADD COLUMN snapshot TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN dependencies BLOB NOT NULL DEFAULT x'';
ALTER TABLE sessions ADD COLUMN layer TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshots ADD COLUMN dependencies BLOB NOT NULL DEFAULT x'';
-- What the packages came to when it was made.
ALTER TABLE templates ADD COLUMN layer TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshots ADD COLUMN layer TEXT NOT NULL DEFAULT '';
)sql"},
};

Result<> make_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(Error::from_errno("mkdir"));
  }
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(Error::from_errno("open"));
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0) return fail(Error::from_errno("stat"));
  // Hashes of secrets and people's output are in there.
  if ((facts.st_mode & 0077) != 0 && ::fchmod(fd.get(), 0700) != 0) {
    return fail(Error::from_errno("make it private (chmod 0700)"));
  }
  return {};
}

// 0600 from its first moment; SQLite gives its other files the same mode.
Result<> make_private_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(Error::from_errno("open"));
  return {};
}

Result<> configure(Database& db) {
  // Exclusive use: a second server on this file is refused here, and the index of
  // the write-ahead log is in our memory instead of a file that a full disk could not hold.
  TRY_OK(db.exec("PRAGMA locking_mode=EXCLUSIVE"));
  // Looks before it touches: a file that is not ours, or damaged, keeps every byte.
  TRY(const std::int64_t tables, db.number("SELECT count(*) FROM sqlite_schema"));
  TRY(const std::int64_t application, db.number("PRAGMA application_id"));
  if (tables == 0 && application == 0) {
    // Before the journal's mode: it can only be chosen while the file is empty.
    TRY_OK(db.exec("PRAGMA auto_vacuum=INCREMENTAL"));
    TRY_OK(db.exec("PRAGMA application_id=" + std::to_string(kApplicationId)));
  } else if (application != kApplicationId) {
    return fail(Errc::kInvalidArgument, "it is the database of another program");
  }
  TRY_OK(
      db.exec("PRAGMA journal_mode=WAL;"
              "PRAGMA synchronous=NORMAL;"
              "PRAGMA foreign_keys=ON;"
              "PRAGMA temp_store=MEMORY;"
              "PRAGMA journal_size_limit=8388608;"
              "PRAGMA wal_autocheckpoint=1000"));
  return {};
}

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

std::string database_path(const std::string& directory) { return directory + "/glovebox.db"; }

Result<Database> open_database(const std::string& directory) {
  if (Result<> made = make_directory(directory); !made) {
    return fail(std::move(made.error()).context(directory));
  }
  // SQLite refuses links anywhere in a path that is opened with NOFOLLOW; those above our own
  // directory are the administrator's business.
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(directory.c_str(), nullptr),
                                                         &std::free);
  if (!real) return fail(Error::from_errno("resolve").context(directory));
  const std::string path = database_path(real.get());
  if (Result<> made = make_private_file(path); !made) {
    return fail(std::move(made.error()).context(path));
  }
  auto open = [&]() -> Result<Database> {
    TRY(Database db, Database::open(path));
    TRY_OK(configure(db));
    return db;
  };
  Result<Database> db = open();
  if (!db) {
    Error error = std::move(db.error()).context(path);
    if (is_disk_full(error)) return fail(std::move(error));
    if (error.code() == Errc::kUnavailable) {
      return fail(Errc::kUnavailable, error.message() + ": another server is using it");
    }
    return fail(
        Error(error.code(),
              error.message() + " (the file was not changed; move it away to start with a new one)",
              error.sys_errno()));
  }
  return db;
}

Result<> migrate(Database& db, std::span<const Migration> steps, std::int64_t now_ms) {
  TRY(Transaction transaction, Transaction::begin(db, Durability::kFsync));
  TRY_OK(
      db.exec("CREATE TABLE IF NOT EXISTS schema_version("
              "version INTEGER PRIMARY KEY, what TEXT NOT NULL, applied_ms INTEGER NOT NULL"
              ") STRICT"));
  TRY(const std::int64_t version, db.number("SELECT max(version) FROM schema_version"));
  const auto known = static_cast<std::int64_t>(steps.size());
  if (version > known) {
    return fail(Errc::kUnsupported, "the database has schema version " + std::to_string(version) +
                                        ", but this program supports up to " +
                                        std::to_string(known) +
                                        ": it was used by a newer Glovebox");
  }
  TRY(Statement note, db.prepare("INSERT INTO schema_version VALUES(?, ?, ?)"));
  for (std::int64_t next = version + 1; next <= known; ++next) {
    const Migration& step = steps[static_cast<std::size_t>(next - 1)];
    if (Result<> done = db.exec(step.sql); !done) {
      return fail(std::move(done.error()).context("schema " + std::to_string(next)));
    }
    TRY_OK(note.bind(next, step.what, now_ms).run());
  }
  return transaction.commit();
}

}  // namespace glovebox::store
