// Idempotent requests in the database. On the store's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "store/sqlite/project_quota.h"
#include "store/sqlite/sqlite.h"
#include "store/store.h"

namespace glovebox::store {

class IdempotencyTable {
 public:
  IdempotencyTable(Database& db, ProjectQuota& quota, std::chrono::milliseconds max_age,
                   std::size_t max_answer_bytes)
      : db_(db), quota_(quota), max_age_(max_age), max_answer_bytes_(max_answer_bytes) {}

  // At open: what ran when the last process ended will never finish. Until this has worked
  // once, begin() and save_pending() try it again and fail when it does.
  Result<> interrupt_running();

  // is_over_quota() for a new one when its project has no room for it. Known ones are answered
  // all the same.
  Result<IdempotentEntry> begin(const IdempotentRequest& request, std::int64_t now_ms);
  // An answer for which its project has no room is left out, and counts all the same: the project's
  // next request is refused and does not run without its answer being kept, too. On an error the
  // answer is kept in memory, found by begin(), and saved by save_pending().
  Result<> finish(const std::string& project, const std::string& key, int status,
                  std::string answer);
  // The same, without an answer.
  Result<> interrupt(const std::string& project, const std::string& key);
  Result<> forget(const std::string& project, const std::string& key);
  Result<> save_pending();

  // The oldest of those that are too old, until `until_bytes` are gone, and at most `limit`; how
  // many went. None goes before its time.
  Result<std::uint64_t> expire(std::int64_t now_ms, std::size_t limit, std::uint64_t until_bytes);

 private:
  using Name = std::pair<std::string, std::string>;  // project, key
  struct Finished {
    IdempotentState state = IdempotentState::kDone;
    int status = 0;
    std::string answer{};
    bool cut = false;
    std::uint64_t counted_bytes = 0;  // of the answer; also if there was no room for it
  };
  static bool is_same(const Statement& row, const IdempotentRequest& request);
  bool has_room_for(const std::string& project, std::size_t answer_bytes);
  Result<> end(Name name, Finished finished);
  Result<> save(const Name& name, const Finished& finished);

  Database& db_;
  ProjectQuota& quota_;
  const std::chrono::milliseconds max_age_;
  const std::size_t max_answer_bytes_;
  bool interrupted_ = false;  // interrupt_running() has worked
  std::map<Name, Finished> pending_;
  std::size_t pending_bytes_ = 0;
};

}  // namespace glovebox::store
