#include "store/run_record.h"

#include <array>
#include <utility>

#include "base/base64.h"
#include "base/utf8_cut.h"

namespace glovebox::store {

namespace {

constexpr std::array<std::pair<RunStatus, std::string_view>, 7> kStatusNames = {{
    {RunStatus::kOk, "ok"},
    {RunStatus::kFailed, "failed"},
    {RunStatus::kTimedOut, "timed_out"},
    {RunStatus::kOomKilled, "oom_killed"},
    {RunStatus::kKilled, "killed"},
    {RunStatus::kCancelled, "cancelled"},
    {RunStatus::kError, "error"},
}};

// A cursor is a version, the place as eight bytes, big end first, and the run's id: 31 bytes.
constexpr char kCursorVersion = 1;
constexpr std::size_t kCursorBytes = 1 + 8 + RunId::kLength;
constexpr std::size_t kRunCursorLetters = (kCursorBytes * 8 + 5) / 6;

}  // namespace

std::string_view run_status_name(RunStatus status) {
  for (const auto& [value, name] : kStatusNames) {
    if (value == status) return name;
  }
  return "error";
}

std::optional<RunStatus> parse_run_status(std::string_view name) {
  for (const auto& [value, known] : kStatusNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::string encode_cursor(const RunCursor& cursor) {
  std::string bytes(1, kCursorVersion);
  const auto seq = static_cast<std::uint64_t>(cursor.seq);
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(seq >> shift));
  return base64url_encode(bytes + cursor.run);
}

Result<RunCursor> parse_cursor(std::string_view text) {
  const auto bad = [] { return fail(Errc::kInvalidArgument, "invalid cursor for a list of runs"); };
  if (text.size() != kRunCursorLetters) return bad();
  const Result<std::string> bytes = base64url_decode(text);
  if (!bytes || bytes->size() != kCursorBytes || (*bytes)[0] != kCursorVersion) return bad();
  std::uint64_t seq = 0;
  for (std::size_t i = 1; i <= 8; ++i) seq = (seq << 8) | static_cast<unsigned char>((*bytes)[i]);
  Result<RunId> run = RunId::parse(std::string_view(*bytes).substr(9));
  if (!run || (seq >> 63) != 0) return bad();
  return RunCursor{.seq = static_cast<std::int64_t>(seq), .run = run->str()};
}

bool cut_text(std::string& text, std::size_t limit) {
  if (text.size() <= limit) return false;
  text.resize(utf8_cut(text, limit));
  text.shrink_to_fit();
  return true;
}

}  // namespace glovebox::store
