#include "store/sqlite/sqlite.h"

#include <sqlite3.h>

#include <cerrno>

#include "base/log.h"
#include "store/text_search.h"

namespace glovebox::store {

namespace {

Error error_of(sqlite3* db, int code, std::string_view doing) {
  const int primary = code & 0xff;
  const int sys_errno = db != nullptr ? sqlite3_system_errno(db) : 0;
  // SQLite says SQLITE_FULL for ENOSPC on a write, but an I/O error for a quota and for the
  // wal-index, which is grown by other means.
  const bool io_full = primary == SQLITE_IOERR && (sys_errno == ENOSPC || sys_errno == EDQUOT);
  std::string message(doing);
  message += ": ";
  if (primary == SQLITE_FULL || io_full) {
    message += "disk full";
    return Error(Errc::kResourceExhausted, std::move(message), ENOSPC);
  }
  message += db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error(Errc::kUnavailable, std::move(message), sys_errno);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Error(Errc::kPermissionDenied, std::move(message), sys_errno);
    default:
      return Error(Errc::kInternal, std::move(message), sys_errno);
  }
}

std::string_view bytes_in(sqlite3_value* value) {
  const void* bytes = sqlite3_value_blob(value);
  const int size = sqlite3_value_bytes(value);
  if (bytes == nullptr || size <= 0) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

// has_text(part, text, text, ...): whether one of the texts has the part.
void call_has_text(sqlite3_context* context, int count, sqlite3_value** values) {
  const std::string_view part = bytes_in(values[0]);
  int found = 0;
  for (int i = 1; i < count && found == 0; ++i) found = has_text(bytes_in(values[i]), part) ? 1 : 0;
  sqlite3_result_int(context, found);
}

}  // namespace

bool is_disk_full(const Error& error) {
  return error.code() == Errc::kResourceExhausted && error.sys_errno() == ENOSPC;
}

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(statement_, other.statement_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

// The result of a reset is the error of the step before, which was reported then.
void Statement::rewind() { (void)sqlite3_reset(statement_); }

// A bind only fails when memory is out or the index is wrong; then the step fails on a constraint
// or finds nothing, and never writes another value.
void Statement::bind_one(int index, std::int64_t value) {
  (void)sqlite3_bind_int64(statement_, index, value);
}
void Statement::bind_one(int index, std::uint64_t value) {
  bind_one(index, static_cast<std::int64_t>(value));
}
void Statement::bind_one(int index, std::uint32_t value) {
  bind_one(index, static_cast<std::int64_t>(value));
}
void Statement::bind_one(int index, int value) {
  bind_one(index, static_cast<std::int64_t>(value));
}
void Statement::bind_one(int index, std::string_view value) {
  (void)sqlite3_bind_text64(statement_, index, value.data() != nullptr ? value.data() : "",
                            value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
void Statement::bind_one(int index, Blob value) {
  (void)sqlite3_bind_blob64(statement_, index,
                            value.bytes.data() != nullptr ? value.bytes.data() : "",
                            value.bytes.size(), SQLITE_TRANSIENT);
}
void Statement::bind_null(int index) { (void)sqlite3_bind_null(statement_, index); }

Result<bool> Statement::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    rewind();
    return false;
  }
  Error error = error_of(db_, code, "store");
  rewind();
  return fail(std::move(error));
}

Result<> Statement::run() {
  TRY(const bool row, next());
  if (row) rewind();
  return {};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (bytes == nullptr || size <= 0) return {};
  return std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Result<Database> Database::open(const std::string& path) {
  sqlite3* raw = nullptr;
  // NOMUTEX: one thread uses it. NOFOLLOW: no other file through a planted link.
  const int code = sqlite3_open_v2(
      path.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
      nullptr);
  Database db(raw);  // a connection comes back even when opening failed, and must be closed
  if (code != SQLITE_OK) return fail(error_of(raw, code, "open"));
  (void)sqlite3_extended_result_codes(raw, 1);
  (void)sqlite3_busy_timeout(raw, 2000);
  // The schema of a tampered file must not call functions of ours.
  (void)sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  (void)sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  const int registered = sqlite3_create_function_v2(
      raw, "has_text", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, nullptr,
      call_has_text, nullptr, nullptr, nullptr);
  if (registered != SQLITE_OK) return fail(error_of(raw, registered, "open"));
  return db;
}

Database::Database(Database&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(db_, other.db_);
  return *this;
}

// close_v2: the file is closed when the last statement is gone, whatever the order.
Database::~Database() { (void)sqlite3_close_v2(db_); }

Result<> Database::exec(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(error_of(db_, code, "store"));
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return fail(error_of(db_, code, "store"));
  return Statement(db_, statement);
}

Result<std::int64_t> Database::number(std::string_view sql) {
  TRY(Statement statement, prepare(sql));
  TRY(const bool row, statement.next());
  return row ? statement.integer(0) : 0;
}

std::int64_t Database::changes() const { return sqlite3_changes64(db_); }

bool Database::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

Result<Transaction> Transaction::begin(Database& db, Durability durability) {
  // The pragma only works outside a transaction; the destructor sets it back.
  if (durability == Durability::kFsync) TRY_OK(db.exec("PRAGMA synchronous=FULL"));
  Transaction transaction(db, durability);
  TRY_OK(db.exec("BEGIN IMMEDIATE"));
  return transaction;
}

Transaction::Transaction(Transaction&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)), durability_(other.durability_) {}

Transaction::~Transaction() {
  if (db_ == nullptr) return;
  // After some errors, a full disk among them, SQLite has rolled back by itself.
  if (db_->in_transaction()) {
    if (Result<> done = db_->exec("ROLLBACK"); !done) {
      log::warn("store: roll back", {{"error", done.error().message()}});
    }
  }
  if (durability_ == Durability::kFsync) {
    if (Result<> done = db_->exec("PRAGMA synchronous=NORMAL"); !done) {
      log::warn("store: leave synchronous=FULL", {{"error", done.error().message()}});
    }
  }
}

Result<> Transaction::commit() { return db_->exec("COMMIT"); }

}  // namespace glovebox::store
