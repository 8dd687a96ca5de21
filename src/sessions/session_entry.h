// One session in the registry: its record, the lock for changes, and its latest log lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "node/async/async_fifo_lock.h"
#include "node/sessions/session_service.h"
#include "store/key_usage.h"
#include "store/session_record.h"

namespace glovebox::sessions {

struct SessionLine {
  std::int64_t at_ms = 0;
  std::string kind;  // "created", "exit", ...
  std::string message;
  std::uint64_t process = 0;  // zero: none
};

struct SessionSample {
  std::int64_t at_ms = 0;
  std::optional<std::uint64_t> cpu_us;  // as SessionUsage's
  std::optional<std::uint64_t> memory_bytes;
  std::uint64_t disk_bytes = 0;
  std::optional<std::uint32_t> processes;
};

struct SessionEntry {
  static constexpr std::size_t kLines = 256;
  static constexpr std::size_t kLineBytes = 512;
  static constexpr std::size_t kSamples = 60;
  using TimePoint = std::chrono::steady_clock::time_point;

  SessionEntry(asio::io_context& io, store::SessionRecord the_record)
      : record(std::move(the_record)), lock(io) {}

  store::SessionRecord record;
  bool is_stored = false;             // the store has a record of it
  bool is_unsaved = false;            // the stored record is older than this one
  node::AsyncFifoLock lock;           // pause, resume, a snapshot, a change: one at a time
  std::optional<TimePoint> deadline;  // the end of its ttl, or of its pause
  store::Admission memory;
  std::deque<SessionLine> lines;
  std::deque<SessionSample> samples;
};

using EntryPtr = std::shared_ptr<SessionEntry>;

// Unlocks an entry that its holder has locked.
class EntryUnlock {
 public:
  explicit EntryUnlock(EntryPtr entry) : entry_(std::move(entry)) {}
  EntryUnlock(const EntryUnlock&) = delete;
  EntryUnlock& operator=(const EntryUnlock&) = delete;
  ~EntryUnlock() { entry_->lock.unlock(); }

 private:
  EntryPtr entry_;
};

}  // namespace glovebox::sessions
