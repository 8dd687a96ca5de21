// Runs in the database. On the store's thread, except the totals, which any thread may read.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/run_queue.h"
#include "store/run_record.h"
#include "store/sqlite/sqlite.h"

namespace glovebox::store {

class RunTable {
 public:
  explicit RunTable(Database& db) : db_(db) {}

  // Counts what is there, once; afterwards the totals are kept up to date. Returns the newest
  // run's place in the order, zero when there is none.
  Result<std::int64_t> load();

  // In one transaction. An id that is there already is left as it is.
  Result<> insert(const QueuedRuns& runs);

  // kNotFound, also for another project's run.
  Result<RunRecord> find(const std::string& project, const RunId& id);
  // With their places; newest first, those before `before_seq` (0: all), at most `limit`.
  struct Listed {
    std::vector<std::pair<std::int64_t, RunRecord>> runs{};
    // One list reads a bounded number of rows: where it ended before the project's last run.
    std::optional<RunCursor> ended_at{};
  };
  Result<Listed> list(const std::string& project, const RunFilter& filter, std::int64_t before_seq,
                      std::size_t limit);

  // Which of the oldest runs go. Each bound that is given ends it.
  struct Removal {
    std::optional<std::string> project{};  // of this one only
    std::size_t max_runs = 0;
    std::optional<std::int64_t> before_seq{};
    std::optional<std::uint64_t> until_bytes{};  // enough once so many bytes are gone
  };
  struct Removed {
    std::uint64_t runs = 0;
    std::uint64_t bytes = 0;
  };
  Result<Removed> remove_oldest(const Removal& removal);
  // The place in the order of the project's first run.
  Result<std::optional<std::int64_t>> oldest_seq(const std::string& project);

  std::uint64_t runs() const { return runs_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  Database& db_;
  std::atomic<std::uint64_t> runs_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace glovebox::store
