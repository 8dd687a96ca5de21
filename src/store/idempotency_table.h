// Idempotent requests in the database. On the store's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace glovebox::store {

class IdempotencyTable {
 public:
  IdempotencyTable(Database& db, std::chrono::milliseconds max_age, std::size_t max_answer_bytes)
      : db_(db), max_age_(max_age), max_answer_bytes_(max_answer_bytes) {}

  // At open: what ran when the last process ended will never finish. Until this has worked
  // once, begin() and save_pending() try it again and fail when it does.
  Result<> interrupt_running();

  Result<IdempotentEntry> begin(const std::string& project, const std::string& key,
                                const std::string& body_sha256, const std::string& run_id,
                                std::int64_t now_ms);
  // On an error the answer is kept in memory, found by begin(), and saved by save_pending().
  Result<> finish(const std::string& project, const std::string& key, int status,
                  std::string answer);
  // The same, without an answer.
  Result<> interrupt(const std::string& project, const std::string& key);
  Result<> forget(const std::string& project, const std::string& key);
  Result<> save_pending();

  // At most `limit` of those that are too old; how many went.
  Result<std::uint64_t> expire(std::int64_t now_ms, std::size_t limit);
  // At most `limit` of the oldest that are finished, whatever their age: the disk's ceiling.
  Result<std::uint64_t> remove_oldest(std::size_t limit);

 private:
  using Name = std::pair<std::string, std::string>;  // project, key
  struct Finished {
    IdempotentState state = IdempotentState::kDone;
    int status = 0;
    std::string answer{};
    bool cut = false;
  };
  Result<> end(Name name, Finished finished);
  Result<> save(const Name& name, const Finished& finished);

  Database& db_;
  const std::chrono::milliseconds max_age_;
  const std::size_t max_answer_bytes_;
  bool interrupted_ = false;  // interrupt_running() has worked
  std::map<Name, Finished> pending_;
  std::size_t pending_bytes_ = 0;
};

}  // namespace glovebox::store
