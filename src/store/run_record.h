// The record of a run, and the queries for runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"

namespace glovebox::store {

struct RunTag {
  static constexpr std::string_view kPrefix = "rn";
  static constexpr const char* kWhat = "run";
};
using RunId = StrongId<RunTag>;

// The numbers are in the database.
enum class RunStatus : std::uint8_t {
  kOk = 1,     // exit code 0
  kFailed,     // the guest's program failed
  kTimedOut,   // wall clock or CPU time
  kOomKilled,  // over its memory
  kKilled,     // by a signal from outside
  kCancelled,  // its client was gone
  kError,      // ours: there is no outcome
};
std::string_view run_status_name(RunStatus status);
std::optional<RunStatus> parse_run_status(std::string_view name);

struct RunRecord {
  RunId id = RunId::make();
  std::string request_id{};
  std::string project{};
  std::string key_id{};
  std::string template_name{};
  std::string profile{};  // its hash
  std::string language{};
  // Wall clock, milliseconds since 1970, UTC. For people: the order of runs is the order in which
  // they were added, whatever the clock did meanwhile.
  std::int64_t started_ms = 0;
  std::int64_t finished_ms = 0;
  RunStatus status = RunStatus::kOk;
  std::int32_t exit_code = 0;
  std::int64_t wall_us = 0;
  std::optional<std::int64_t> cpu_us;  // nothing: not counted
  std::optional<std::uint64_t> peak_memory_bytes{};
  bool warm = false;
  std::string engine{};
  std::string grade{};
  std::string error_code{};  // empty unless kError
  std::string error_message{};

  // The rest is left out of lists. Give all of `out` and `err`; the store cuts them to the
  // configured length and sets the flags.
  std::string out{};
  std::string err{};
  std::string answer{};  // the answer's JSON without stdout and stderr; empty when it was too long
  bool out_cut = false;
  bool err_cut = false;
  bool answer_cut = false;
  std::string code{};  // what ran, where the administrator keeps it; else empty
  bool code_cut = false;

  bool operator==(const RunRecord&) const = default;
};

struct RunFilter {
  std::vector<RunStatus> statuses{};  // any of them; empty: all
  std::optional<std::string> template_name{};
  std::optional<std::string> language{};
  std::optional<std::int64_t> since_ms{};  // started at or after
  std::optional<std::int64_t> until_ms{};  // and before
  // A part of its id, template, language or error, in search_form(); empty: all.
  std::string search{};
  std::uint32_t limit = 50;  // 1 to 200
  std::string cursor{};      // `next_cursor` of the page before, or empty
};
inline constexpr std::uint32_t kMaxRunPage = 200;

// Newest first. Runs that are added while a client pages do not shift the pages.
struct RunPage {
  std::vector<RunRecord> runs{};  // without out, err and answer
  std::string next_cursor{};      // empty on the last page
};

// A place in the order of runs; opaque to clients.
struct RunCursor {
  std::int64_t seq = 0;
  std::string run{};  // its id
};
std::string encode_cursor(const RunCursor& cursor);
// kInvalidArgument for anything that encode_cursor did not make.
Result<RunCursor> parse_cursor(std::string_view text);

// At most `limit` bytes, without tearing a UTF-8 character. True: something was cut.
bool cut_text(std::string& text, std::size_t limit);

}  // namespace glovebox::store
