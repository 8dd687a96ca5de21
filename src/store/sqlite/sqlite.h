// A thin layer over SQLite: owners for a connection, a statement and a transaction, and a Result
// from every call. Contains no SQL of ours. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace glovebox::store {

// A full disk is kResourceExhausted; a damaged file is kInternal and says so.
bool is_disk_full(const Error& error);

// Bytes that are not necessarily text.
struct Blob {
  std::string_view bytes;
};

class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // Parameters in their order. What they point to is copied.
  template <class... Values>
  Statement& bind(const Values&... values) {
    rewind();
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }

  // True: there is a row to read. False: that was all.
  Result<bool> next();
  // For statements without rows.
  Result<> run();

  std::int64_t integer(int column) const;
  std::string text(int column) const;  // of a blob, too
  bool is_null(int column) const;

 private:
  friend class Database;
  Statement(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  void rewind();
  void bind_one(int index, std::int64_t value);
  void bind_one(int index, std::uint64_t value);
  void bind_one(int index, std::uint32_t value);
  void bind_one(int index, int value);
  void bind_one(int index, std::string_view value);
  void bind_one(int index, const std::string& value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, const char* value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, Blob value);
  void bind_null(int index);
  template <class T>
  void bind_one(int index, const std::optional<T>& value) {
    if (value) {
      bind_one(index, *value);
    } else {
      bind_null(index);
    }
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

class Database {
 public:
  // Opens or creates. Never replaces what is there.
  static Result<Database> open(const std::string& path);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  // One or more statements without parameters.
  Result<> exec(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  // The first column of the first row; zero without a row.
  Result<std::int64_t> number(std::string_view sql);
  // Rows that the last statement changed.
  std::int64_t changes() const;
  bool in_transaction() const;

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  sqlite3* db_ = nullptr;
};

enum class Durability {
  kBatch,  // survives our crash; a power cut may take the last transactions
  kFsync,  // survives a power cut, too, once it is committed
};

// Rolled back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& db, Durability durability);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<> commit();

 private:
  Transaction(Database& db, Durability durability) : db_(&db), durability_(durability) {}
  Database* db_ = nullptr;
  Durability durability_ = Durability::kBatch;
};

}  // namespace glovebox::store
