#include "store/idempotency_table.h"

namespace glovebox::store {

namespace {

// In the database; kFresh and kMismatch are answers only.
constexpr int kRunning = static_cast<int>(IdempotentState::kRunning);
constexpr int kInterrupted = static_cast<int>(IdempotentState::kInterrupted);

constexpr std::size_t kMaxKeyBytes = 255;
// Answers that wait for a full disk to have space again.
constexpr std::size_t kMaxPendingBytes = 64u << 20;

}  // namespace

Result<> IdempotencyTable::interrupt_running() {
  if (interrupted_) return {};
  TRY(Statement update, db_.prepare("UPDATE idempotency SET state = ? WHERE state = ?"));
  TRY_OK(update.bind(kInterrupted, kRunning).run());
  interrupted_ = true;
  return {};
}

Result<IdempotentEntry> IdempotencyTable::begin(const std::string& project, const std::string& key,
                                                const std::string& body_sha256,
                                                const std::string& run_id, std::int64_t now_ms) {
  if (key.empty() || key.size() > kMaxKeyBytes) {
    return fail(Errc::kInvalidArgument, "an idempotency key has 1 to 255 bytes");
  }
  TRY_OK(interrupt_running());
  TRY(Statement select,
      db_.prepare("SELECT body_sha256, state, status, run_id, created_ms, answer_cut, answer "
                  "FROM idempotency WHERE project = ? AND key = ?"));
  TRY(const bool row, select.bind(project, key).next());
  if (row) {
    const auto state = static_cast<IdempotentState>(select.integer(1));
    const bool expired = now_ms - select.integer(4) >= max_age_.count();
    // One that runs has not expired, however long it runs: a second one beside it is what the
    // caller wanted to be safe from.
    if (!expired || state == IdempotentState::kRunning) {
      IdempotentEntry entry{.state = state, .run_id = select.text(3)};
      if (select.text(0) != body_sha256) {
        entry.state = IdempotentState::kMismatch;
        return entry;
      }
      if (const auto pending = pending_.find(Name(project, key)); pending != pending_.end()) {
        entry.state = pending->second.state;
        entry.status = pending->second.status;
        entry.answer = pending->second.answer;
        entry.answer_cut = pending->second.cut;
      } else if (state == IdempotentState::kDone) {
        entry.status = static_cast<int>(select.integer(2));
        entry.answer_cut = select.integer(5) != 0;
        entry.answer = select.text(6);
      }
      return entry;
    }
  }
  select = Statement();
  // Durable before it runs: that is the promise.
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kFsync));
  TRY(Statement insert,
      db_.prepare("INSERT OR REPLACE INTO idempotency(project, key, body_sha256, state, status, "
                  "run_id, created_ms, answer_cut, answer) VALUES(?,?,?,?,0,?,?,0,?)"));
  TRY_OK(insert.bind(project, key, body_sha256, kRunning, run_id, now_ms, Blob{}).run());
  TRY_OK(transaction.commit());
  return IdempotentEntry{.state = IdempotentState::kFresh, .run_id = run_id};
}

Result<> IdempotencyTable::finish(const std::string& project, const std::string& key, int status,
                                  std::string answer) {
  Finished finished{.status = status, .answer = std::move(answer)};
  if (finished.answer.size() > max_answer_bytes_) {
    finished.answer.clear();
    finished.cut = true;
  }
  return end(Name(project, key), std::move(finished));
}

Result<> IdempotencyTable::interrupt(const std::string& project, const std::string& key) {
  return end(Name(project, key), Finished{.state = IdempotentState::kInterrupted});
}

Result<> IdempotencyTable::end(Name name, Finished finished) {
  Result<> saved = save(name, finished);
  if (saved) return saved;
  if (pending_bytes_ + finished.answer.size() > kMaxPendingBytes) {
    finished.answer.clear();
    finished.cut = true;
  }
  pending_bytes_ += finished.answer.size();
  pending_.insert_or_assign(std::move(name), std::move(finished));
  return saved;
}

Result<> IdempotencyTable::save(const Name& name, const Finished& finished) {
  TRY(Statement update,
      db_.prepare("UPDATE idempotency SET state = ?, status = ?, answer_cut = ?, answer = ? "
                  "WHERE project = ? AND key = ? AND state = ?"));
  return update
      .bind(static_cast<int>(finished.state), finished.status, static_cast<int>(finished.cut),
            Blob{finished.answer}, name.first, name.second, kRunning)
      .run();
}

Result<> IdempotencyTable::save_pending() {
  TRY_OK(interrupt_running());
  while (!pending_.empty()) {
    const auto first = pending_.begin();
    TRY_OK(save(first->first, first->second));
    pending_bytes_ -= first->second.answer.size();
    pending_.erase(first);
  }
  return {};
}

Result<> IdempotencyTable::forget(const std::string& project, const std::string& key) {
  TRY(Statement remove,
      db_.prepare("DELETE FROM idempotency WHERE project = ? AND key = ? AND state = ?"));
  return remove.bind(project, key, kRunning).run();
}

Result<std::uint64_t> IdempotencyTable::expire(std::int64_t now_ms, std::size_t limit) {
  TRY(Statement remove,
      db_.prepare("DELETE FROM idempotency WHERE rowid IN (SELECT rowid FROM idempotency "
                  "WHERE created_ms <= ? AND state <> ? LIMIT ?)"));
  TRY_OK(remove.bind(now_ms - max_age_.count(), kRunning, static_cast<std::uint64_t>(limit)).run());
  return static_cast<std::uint64_t>(db_.changes());
}

Result<std::uint64_t> IdempotencyTable::remove_oldest(std::size_t limit) {
  TRY(Statement remove,
      db_.prepare("DELETE FROM idempotency WHERE rowid IN (SELECT rowid FROM idempotency "
                  "WHERE state <> ? ORDER BY created_ms LIMIT ?)"));
  TRY_OK(remove.bind(kRunning, static_cast<std::uint64_t>(limit)).run());
  return static_cast<std::uint64_t>(db_.changes());
}

}  // namespace glovebox::store
