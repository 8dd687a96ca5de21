#include "store/sqlite/idempotency_table.h"

#include <vector>

namespace glovebox::store {

namespace {

// In the database; kFresh and kMismatch are answers only.
constexpr int kRunning = static_cast<int>(IdempotentState::kRunning);
constexpr int kInterrupted = static_cast<int>(IdempotentState::kInterrupted);

constexpr std::size_t kMaxKeyBytes = 255;
// What a row counts for, without its answer; in SQL, of a row that is there. Its texts are ASCII.
constexpr std::string_view kRequestBytes =
    "(300 + length(project) + 2 * length(key) + length(body_sha256) + length(run_id) + "
    "length(route))";

std::uint64_t request_bytes(const IdempotentRequest& request) {
  return 300 + request.project.size() + 2 * request.key.size() + request.body_sha256.size() +
         request.run_id.size() + request.route.size();
}

// Answers that wait for a full disk to have space again.
constexpr std::size_t kMaxPendingBytes = 64u << 20;

}  // namespace

Result<> IdempotencyTable::interrupt_running() {
  if (interrupted_) return {};
  TRY(Statement update, db_.prepare("UPDATE idempotency SET state = ?, bytes = " +
                                    std::string(kRequestBytes) + " WHERE state = ?"));
  TRY_OK(update.bind(kInterrupted, kRunning).run());
  interrupted_ = true;
  return {};
}

// A record without a route is from before they were recorded.
bool IdempotencyTable::is_same(const Statement& row, const IdempotentRequest& request) {
  const std::string route = row.text(7);
  return row.text(0) == request.body_sha256 && (route.empty() || route == request.route);
}

Result<IdempotentEntry> IdempotencyTable::begin(const IdempotentRequest& request,
                                                std::int64_t now_ms) {
  const auto& [project, key, route, body_sha256, run_id] = request;
  if (key.empty() || key.size() > kMaxKeyBytes) {
    return fail(Errc::kInvalidArgument, "an idempotency key has 1 to 255 bytes");
  }
  TRY_OK(interrupt_running());
  TRY(Statement select,
      db_.prepare("SELECT body_sha256, state, status, run_id, created_ms, answer_cut, answer, "
                  "route FROM idempotency WHERE project = ? AND key = ?"));
  TRY(const bool row, select.bind(project, key).next());
  if (row) {
    const auto state = static_cast<IdempotentState>(select.integer(1));
    const bool expired = now_ms - select.integer(4) >= max_age_.count();
    // One that runs has not expired, however long it runs: a second one beside it is what the
    // caller wanted to be safe from.
    if (!expired || state == IdempotentState::kRunning) {
      IdempotentEntry entry{.state = state, .run_id = select.text(3)};
      if (!is_same(select, request)) {
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
  const std::uint64_t bytes = request_bytes(request) + quota_.answer_reserve();
  TRY_OK(quota_.admit(project, bytes));
  // Durable before it runs: that is the promise.
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kFsync));
  // Two statements, because OR REPLACE would remove the expired one without its trigger.
  TRY(Statement remove, db_.prepare("DELETE FROM idempotency WHERE project = ? AND key = ?"));
  TRY_OK(remove.bind(project, key).run());
  TRY(Statement insert,
      db_.prepare("INSERT INTO idempotency(project, key, body_sha256, state, status, run_id, "
                  "created_ms, answer_cut, answer, route, bytes) VALUES(?,?,?,?,0,?,?,0,?,?,?)"));
  TRY_OK(
      insert.bind(project, key, body_sha256, kRunning, run_id, now_ms, Blob{}, route, bytes).run());
  TRY_OK(transaction.commit());
  return IdempotentEntry{.state = IdempotentState::kFresh, .run_id = run_id};
}

Result<> IdempotencyTable::finish(const std::string& project, const std::string& key, int status,
                                  std::string answer) {
  Finished finished{.status = status, .answer = std::move(answer)};
  const bool is_too_long = finished.answer.size() > max_answer_bytes_;
  if (!is_too_long) finished.counted_bytes = finished.answer.size();
  if (is_too_long || !has_room_for(project, finished.answer.size())) {
    finished.answer = std::string();
    finished.cut = true;
  }
  return end(Name(project, key), std::move(finished));
}

// If the database cannot tell, the answer is tried, and waits.
bool IdempotencyTable::has_room_for(const std::string& project, std::size_t answer_bytes) {
  const std::uint64_t reserved = quota_.answer_reserve();
  if (answer_bytes <= reserved) return true;
  const Result<> admitted = quota_.admit(project, answer_bytes - reserved);
  return admitted || !is_over_quota(admitted.error());
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
      db_.prepare("UPDATE idempotency SET state = ?, status = ?, answer_cut = ?, answer = ?, "
                  "bytes = " +
                  std::string(kRequestBytes) + " + ? WHERE project = ? AND key = ? AND state = ?"));
  return update
      .bind(static_cast<int>(finished.state), finished.status, static_cast<int>(finished.cut),
            Blob{finished.answer}, finished.counted_bytes, name.first, name.second, kRunning)
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

Result<std::uint64_t> IdempotencyTable::expire(std::int64_t now_ms, std::size_t limit,
                                               std::uint64_t until_bytes) {
  std::vector<std::int64_t> rows;
  {
    TRY(Statement select, db_.prepare("SELECT rowid, bytes FROM idempotency WHERE created_ms <= ? "
                                      "AND state <> ? ORDER BY created_ms LIMIT ?"));
    select.bind(now_ms - max_age_.count(), kRunning, static_cast<std::uint64_t>(limit));
    for (std::uint64_t bytes = 0; bytes < until_bytes;) {
      TRY(const bool row, select.next());
      if (!row) break;
      rows.push_back(select.integer(0));
      bytes += static_cast<std::uint64_t>(select.integer(1));
    }
  }
  if (rows.empty()) return 0;
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kBatch));
  TRY(Statement remove, db_.prepare("DELETE FROM idempotency WHERE rowid = ?"));
  for (const std::int64_t row : rows) TRY_OK(remove.bind(row).run());
  TRY_OK(transaction.commit());
  return rows.size();
}

}  // namespace glovebox::store
