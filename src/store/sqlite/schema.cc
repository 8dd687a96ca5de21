#include "store/sqlite/schema.h"

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
    {"usage by project, routes of idempotent requests, no secrets of ended sessions", R"sql(
-- Of an idempotent request: its method and path. Empty in records from before this step, which are
-- then good for every route, as they were.
ALTER TABLE idempotency ADD COLUMN route TEXT NOT NULL DEFAULT '';
-- What a record counts for in its project's usage.
ALTER TABLE idempotency ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

-- 5 and 6 are the states of a session that is over. x'00' is metadata without a pair.
UPDATE sessions SET
  env = x'',
  metadata = iif(length(metadata) > 4096, x'00', metadata),
  port_token = iif(port_token = '', '', 'ended')
WHERE state >= 5;
UPDATE sessions SET bytes = 600 + length(metadata) + length(env) + length(dependencies)
  + length(net) + length(reason) + length(agent_id) + length(template);
UPDATE idempotency SET bytes = 300 + length(project) + 2 * length(key) + length(body_sha256)
  + length(run_id) + length(answer);
DROP INDEX sessions_by_end;
CREATE INDEX sessions_by_end ON sessions(ended_ms) WHERE state >= 5;
CREATE INDEX sessions_by_project_end ON sessions(project, ended_ms) WHERE state >= 5;

CREATE TABLE project_usage(
  project TEXT PRIMARY KEY NOT NULL,
  runs INTEGER NOT NULL DEFAULT 0,
  run_bytes INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0,
  ended_bytes INTEGER NOT NULL DEFAULT 0,
  living_bytes INTEGER NOT NULL DEFAULT 0,
  request_bytes INTEGER NOT NULL DEFAULT 0,
  definition_bytes INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

INSERT INTO project_usage(project)
  SELECT project FROM runs UNION SELECT project FROM sessions UNION SELECT project FROM idempotency
  UNION SELECT project FROM templates UNION SELECT project FROM snapshots;
UPDATE project_usage AS u SET
  runs = (SELECT count(*) FROM runs WHERE project = u.project),
  run_bytes = (SELECT coalesce(sum(bytes), 0) FROM runs WHERE project = u.project),
  ended = (SELECT count(*) FROM sessions WHERE project = u.project AND state >= 5),
  ended_bytes =
    (SELECT coalesce(sum(bytes), 0) FROM sessions WHERE project = u.project AND state >= 5),
  living_bytes =
    (SELECT coalesce(sum(bytes), 0) FROM sessions WHERE project = u.project AND state < 5),
  request_bytes = (SELECT coalesce(sum(bytes), 0) FROM idempotency WHERE project = u.project),
  definition_bytes =
    (SELECT coalesce(sum(500 + length(preload) + length(env) + length(dependencies)
       + length(description)), 0) FROM templates WHERE project = u.project)
    + (SELECT coalesce(sum(500 + length(dependencies)), 0) FROM snapshots
       WHERE project = u.project);

-- The triggers: a row for the project, unless there is one, and the difference. Not as an upsert,
-- because the conflict clause of the statement outside would replace its own.
CREATE TRIGGER runs_added AFTER INSERT ON runs BEGIN
  INSERT INTO project_usage(project) SELECT new.project
    WHERE NOT EXISTS (SELECT 1 FROM project_usage WHERE project = new.project);
  UPDATE project_usage SET runs = runs + 1, run_bytes = run_bytes + new.bytes
    WHERE project = new.project;
END;
CREATE TRIGGER runs_removed AFTER DELETE ON runs BEGIN
  UPDATE project_usage SET runs = runs - 1, run_bytes = run_bytes - old.bytes
    WHERE project = old.project;
END;

CREATE TRIGGER sessions_added AFTER INSERT ON sessions BEGIN
  INSERT INTO project_usage(project) SELECT new.project
    WHERE NOT EXISTS (SELECT 1 FROM project_usage WHERE project = new.project);
  UPDATE project_usage SET
    ended = ended + (new.state >= 5),
    ended_bytes = ended_bytes + iif(new.state >= 5, new.bytes, 0),
    living_bytes = living_bytes + iif(new.state < 5, new.bytes, 0)
    WHERE project = new.project;
END;
CREATE TRIGGER sessions_changed AFTER UPDATE OF state, bytes ON sessions BEGIN
  UPDATE project_usage SET
    ended = ended + (new.state >= 5) - (old.state >= 5),
    ended_bytes = ended_bytes + iif(new.state >= 5, new.bytes, 0) - iif(old.state >= 5, old.bytes, 0),
    living_bytes = living_bytes + iif(new.state < 5, new.bytes, 0) - iif(old.state < 5, old.bytes, 0)
    WHERE project = new.project;
END;
CREATE TRIGGER sessions_removed AFTER DELETE ON sessions BEGIN
  UPDATE project_usage SET
    ended = ended - (old.state >= 5),
    ended_bytes = ended_bytes - iif(old.state >= 5, old.bytes, 0),
    living_bytes = living_bytes - iif(old.state < 5, old.bytes, 0)
    WHERE project = old.project;
END;

CREATE TRIGGER idempotency_added AFTER INSERT ON idempotency BEGIN
  INSERT INTO project_usage(project) SELECT new.project
    WHERE NOT EXISTS (SELECT 1 FROM project_usage WHERE project = new.project);
  UPDATE project_usage SET request_bytes = request_bytes + new.bytes WHERE project = new.project;
END;
CREATE TRIGGER idempotency_changed AFTER UPDATE OF bytes ON idempotency BEGIN
  UPDATE project_usage SET request_bytes = request_bytes + new.bytes - old.bytes
    WHERE project = new.project;
END;
CREATE TRIGGER idempotency_removed AFTER DELETE ON idempotency BEGIN
  UPDATE project_usage SET request_bytes = request_bytes - old.bytes WHERE project = old.project;
END;

CREATE TRIGGER templates_added AFTER INSERT ON templates BEGIN
  INSERT INTO project_usage(project) SELECT new.project
    WHERE NOT EXISTS (SELECT 1 FROM project_usage WHERE project = new.project);
  UPDATE project_usage SET definition_bytes = definition_bytes + 500 + length(new.preload)
    + length(new.env) + length(new.dependencies) + length(new.description)
    WHERE project = new.project;
END;
CREATE TRIGGER templates_removed AFTER DELETE ON templates BEGIN
  UPDATE project_usage SET definition_bytes = definition_bytes - 500 - length(old.preload)
    - length(old.env) - length(old.dependencies) - length(old.description)
    WHERE project = old.project;
END;
CREATE TRIGGER snapshots_added AFTER INSERT ON snapshots BEGIN
  INSERT INTO project_usage(project) SELECT new.project
    WHERE NOT EXISTS (SELECT 1 FROM project_usage WHERE project = new.project);
  UPDATE project_usage SET definition_bytes = definition_bytes + 500 + length(new.dependencies)
    WHERE project = new.project;
END;
CREATE TRIGGER snapshots_removed AFTER DELETE ON snapshots BEGIN
  UPDATE project_usage SET definition_bytes = definition_bytes - 500 - length(old.dependencies)
    WHERE project = old.project;
END;
)sql"},
    {"indexes of living sessions", R"sql(
-- 5 is the first of the states of a session that is over.
CREATE INDEX sessions_living ON sessions(seq) WHERE state < 5;
CREATE INDEX sessions_living_by_project ON sessions(project, seq) WHERE state < 5;
)sql"},
    {"pauses that keep only the files, hosts that services see", R"sql(
ALTER TABLE sessions ADD COLUMN paused_files_only INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN host_mask TEXT NOT NULL DEFAULT '';
)sql"},
    {"how many sandboxes of a template wait", R"sql(
ALTER TABLE templates ADD COLUMN pool_min INTEGER NOT NULL DEFAULT -1;
ALTER TABLE templates ADD COLUMN pool_max INTEGER NOT NULL DEFAULT -1;
ALTER TABLE templates ADD COLUMN session_pool_min INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN session_pool_max INTEGER NOT NULL DEFAULT 0;
)sql"},
    {"names of sessions", R"sql(
-- Unique among the living ones of a project. That is checked in memory and not by an index here:
-- an end may be known before it could be stored.
ALTER TABLE sessions ADD COLUMN name TEXT NOT NULL DEFAULT '';
)sql"},
    {"the console's sessions and links, code of runs", R"sql(
-- kind 1: a browser's session; 2: a one-time link. The digest is SHA-256 as hex.
CREATE TABLE sign_ins(
  digest TEXT PRIMARY KEY NOT NULL CHECK(length(digest) = 64),
  kind INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What ran, where store.keep_code is on.
ALTER TABLE run_bodies ADD COLUMN code BLOB;
)sql"},
    {"templates and snapshots of images", R"sql(
-- The id of the image's tree, and the name that the client used; both empty: the host's files.
ALTER TABLE templates ADD COLUMN image TEXT NOT NULL DEFAULT '';
ALTER TABLE templates ADD COLUMN image_name TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshots ADD COLUMN image TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshots ADD COLUMN image_name TEXT NOT NULL DEFAULT '';
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
              // What is removed is overwritten: an ended session's environment is not in a copy of
              // the file.
              "PRAGMA secure_delete=ON;"
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
