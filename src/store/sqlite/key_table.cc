#include "store/sqlite/key_table.h"

#include <algorithm>

namespace glovebox::store {

namespace {

Result<> add_project(Database& db, const std::string& name, std::int64_t now_ms) {
  TRY(Statement insert,
      db.prepare("INSERT OR IGNORE INTO projects(name, created_ms) VALUES(?, ?)"));
  return insert.bind(name, now_ms).run();
}

std::optional<std::int64_t> optional_integer(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.integer(column);
}

Result<KeyRecord> read_key(const Statement& row) {
  TRY(KeyId id, KeyId::parse(row.text(0)));
  const std::string digest = row.text(4);
  KeyRecord key{.id = std::move(id),
                .project = row.text(1),
                .name = row.text(2),
                .role = row.integer(3) == 1 ? KeyRole::kAdmin : KeyRole::kUser,
                .limits = {.max_in_flight = static_cast<std::uint32_t>(row.integer(5)),
                           .runs_per_minute = static_cast<std::uint32_t>(row.integer(6)),
                           .max_memory_bytes = static_cast<std::uint64_t>(row.integer(7))},
                .created_ms = row.integer(8),
                .revoked_ms = optional_integer(row, 9),
                .last_used_ms = optional_integer(row, 10)};
  if (digest.size() != key.digest.size()) {
    return fail(Errc::kInternal, "a key's digest has the wrong length");
  }
  std::copy(digest.begin(), digest.end(), key.digest.begin());
  return key;
}

}  // namespace

Result<std::vector<KeyRecord>> load_keys(Database& db) {
  TRY(Statement select,
      db.prepare("SELECT id, project, name, role, digest, max_in_flight, runs_per_minute, "
                 "max_memory_bytes, created_ms, revoked_ms, last_used_ms FROM keys"));
  std::vector<KeyRecord> keys;
  while (true) {
    TRY(const bool row, select.next());
    if (!row) return keys;
    TRY(KeyRecord key, read_key(select));
    keys.push_back(std::move(key));
  }
}

Result<> insert_key(Database& db, const KeyRecord& key) {
  TRY(Transaction transaction, Transaction::begin(db, Durability::kFsync));
  TRY_OK(add_project(db, key.project, key.created_ms));
  TRY(Statement insert,
      db.prepare("INSERT INTO keys(id, project, name, role, digest, max_in_flight, "
                 "runs_per_minute, max_memory_bytes, created_ms) VALUES(?,?,?,?,?,?,?,?,?)"));
  const std::string_view digest(reinterpret_cast<const char*>(key.digest.data()),
                                key.digest.size());
  TRY_OK(insert
             .bind(key.id.str(), key.project, key.name, static_cast<int>(key.role), Blob{digest},
                   key.limits.max_in_flight, key.limits.runs_per_minute,
                   key.limits.max_memory_bytes, key.created_ms)
             .run());
  return transaction.commit();
}

Result<> save_revocation(Database& db, const KeyId& id, std::int64_t revoked_ms) {
  TRY(Transaction transaction, Transaction::begin(db, Durability::kFsync));
  TRY(Statement update,
      db.prepare("UPDATE keys SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL"));
  TRY_OK(update.bind(revoked_ms, id.str()).run());
  return transaction.commit();
}

Result<> save_last_used(Database& db, const std::vector<std::pair<KeyId, std::int64_t>>& used) {
  if (used.empty()) return {};
  TRY(Transaction transaction, Transaction::begin(db, Durability::kBatch));
  TRY(Statement update, db.prepare("UPDATE keys SET last_used_ms = ? WHERE id = ?"));
  for (const auto& [id, when_ms] : used) TRY_OK(update.bind(when_ms, id.str()).run());
  return transaction.commit();
}

Result<> insert_project(Database& db, const std::string& name, std::int64_t now_ms) {
  TRY(Transaction transaction, Transaction::begin(db, Durability::kFsync));
  TRY_OK(add_project(db, name, now_ms));
  return transaction.commit();
}

Result<std::vector<std::string>> list_project_names(Database& db) {
  TRY(Statement select, db.prepare("SELECT name FROM projects ORDER BY name"));
  std::vector<std::string> names;
  while (true) {
    TRY(const bool row, select.next());
    if (!row) return names;
    names.push_back(select.text(0));
  }
}

}  // namespace glovebox::store
