// One session as the keeper has it: its record, whose turn it is with it, and what happened lately.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "control/turns.h"
#include "node/session_service.h"
#include "store/key_usage.h"
#include "store/session_record.h"

namespace glovebox::control {

struct SessionLine {
  std::int64_t at_ms = 0;
  std::string kind;  // "created", "exit", ...
  std::string message;
  std::uint64_t process = 0;  // zero: none
};

struct SessionSample {
  std::int64_t at_ms = 0;
  std::uint64_t cpu_us = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint32_t processes = 0;
};

struct SessionEntry {
  static constexpr std::size_t kLines = 256;
  static constexpr std::size_t kLineBytes = 512;
  static constexpr std::size_t kSamples = 60;
  using TimePoint = std::chrono::steady_clock::time_point;

  SessionEntry(asio::io_context& io, store::SessionRecord the_record)
      : record(std::move(the_record)), turns(io) {}

  store::SessionRecord record;
  bool is_stored = false;             // there is a record of it
  bool is_unsaved = false;            // and it is older than this one
  Turns turns;                        // pause, resume, a snapshot, a change: one at a time
  std::optional<TimePoint> deadline;  // of its ttl, or of its pause
  store::Admission memory;
  std::deque<SessionLine> lines;
  std::deque<SessionSample> samples;
};

}  // namespace glovebox::control
