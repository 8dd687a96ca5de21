// Run records that are not on disk yet: bounded, in order, and findable meanwhile. Records leave
// only after their transaction is committed, so there is no moment in which a record is in neither
// place. When it is full, the project that has most in it loses its newest one. Thread-safe: the
// server's thread adds and finds, the store's thread takes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/run_record.h"

namespace glovebox::store {

struct QueuedRun {
  std::int64_t seq = 0;
  std::uint64_t bytes = 0;  // as counted by the retention
  RunRecord run{};
};
using QueuedRuns = std::vector<std::shared_ptr<const QueuedRun>>;

// Does the filter, apart from its cursor and limit, let this run pass?
bool matches(const RunFilter& filter, const RunRecord& run);

class RunQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  RunQueue(std::size_t max_records, std::size_t max_bytes)
      : max_records_(max_records), max_bytes_(max_bytes) {}

  // The order continues after this one.
  void start_after(std::int64_t seq);
  // How many wait now; nothing when the queue is full and this record was dropped.
  std::optional<std::size_t> add(RunRecord run, std::int64_t now_ms, TimePoint now);

  std::shared_ptr<const QueuedRun> find(const std::string& project, const RunId& id) const;
  // Newest first, those before `before_seq` in the order (0: all), at most `limit`.
  QueuedRuns list(const std::string& project, const RunFilter& filter, std::int64_t before_seq,
                  std::size_t limit) const;

  // The oldest ones, up to the one that reaches `bytes`; they stay until they are removed.
  QueuedRuns oldest(std::size_t limit, std::size_t bytes) const;
  // Up to this place in the order, inclusive.
  void remove_through(std::int64_t seq);

  std::size_t size() const;
  // When the oldest was added.
  std::optional<TimePoint> oldest_since() const;
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Item {
    std::shared_ptr<const QueuedRun> run{};
    TimePoint added{};
  };

  using Items = std::deque<Item>;

  bool is_full(std::size_t more_bytes) const {
    return items_.size() >= max_records_ || bytes_ + more_bytes > max_bytes_;
  }
  bool drop_from_larger(const std::string& project, std::size_t more_bytes);
  Items::iterator remove(Items::iterator item);

  const std::size_t max_records_;
  const std::size_t max_bytes_;
  std::atomic<std::uint64_t> dropped_{0};
  mutable std::mutex mutex_;
  Items items_;
  std::unordered_map<std::string, std::shared_ptr<const QueuedRun>> by_id_;
  std::unordered_map<std::string, std::size_t> bytes_by_project_;
  std::size_t bytes_ = 0;
  std::int64_t last_seq_ = 0;
};

}  // namespace glovebox::store
