#include "store/sqlite/sign_in_table.h"

#include <utility>

namespace glovebox::store {

namespace {

Result<> remove_each(Database& db, const std::vector<std::string>& digests) {
  TRY(Statement remove, db.prepare("DELETE FROM sign_ins WHERE digest = ?"));
  for (const std::string& digest : digests) TRY_OK(remove.bind(digest).run());
  return {};
}

}  // namespace

Result<std::vector<SignIn>> load_sign_ins(Database& db, std::int64_t now_ms) {
  TRY(Statement select, db.prepare("SELECT digest, kind, key_id, created_ms, expires_ms "
                                   "FROM sign_ins WHERE expires_ms > ? ORDER BY created_ms"));
  select.bind(now_ms);
  std::vector<SignIn> all;
  while (true) {
    TRY(const bool row, select.next());
    if (!row) return all;
    TRY(KeyId key, KeyId::parse(select.text(2)));
    all.push_back(SignIn{.digest = select.text(0),
                         .kind = select.integer(1) == 1 ? SignInKind::kSession : SignInKind::kLink,
                         .key = std::move(key),
                         .created_ms = select.integer(3),
                         .expires_ms = select.integer(4)});
  }
}

Result<> insert_sign_in(Database& db, const SignIn& sign_in,
                        const std::vector<std::string>& others) {
  TRY(Transaction transaction, Transaction::begin(db, Durability::kFsync));
  TRY_OK(remove_each(db, others));
  TRY(Statement expired, db.prepare("DELETE FROM sign_ins WHERE expires_ms <= ?"));
  TRY_OK(expired.bind(sign_in.created_ms).run());
  TRY(Statement insert, db.prepare("INSERT INTO sign_ins VALUES(?,?,?,?,?)"));
  TRY_OK(insert
             .bind(sign_in.digest, static_cast<int>(sign_in.kind), sign_in.key.str(),
                   sign_in.created_ms, sign_in.expires_ms)
             .run());
  return transaction.commit();
}

Result<> remove_sign_ins(Database& db, const std::vector<std::string>& digests) {
  TRY(Transaction transaction, Transaction::begin(db, Durability::kFsync));
  TRY_OK(remove_each(db, digests));
  return transaction.commit();
}

}  // namespace glovebox::store
