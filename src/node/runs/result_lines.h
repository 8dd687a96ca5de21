// Splits what a runtime writes about its results into lines. The guest writes them, so their size
// and number are bounded; what exceeds the bounds is dropped, and the report says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::node {

class ResultLines {
 public:
  static constexpr std::size_t kMaxLine = 8u << 20;
  static constexpr std::size_t kMaxTotal = 8u << 20;
  static constexpr std::size_t kMaxLines = 256;
  // Ends of lines, kept or not, empty or not. Beyond that, reading stops.
  static constexpr std::size_t kMaxSeen = 65'536;
  // Parsing the lines takes microseconds for each value in them, and all clients wait for the
  // same thread.
  static constexpr std::size_t kMaxValues = 40'000;

  // Lines that were completed by these bytes.
  std::vector<std::string> add(std::string_view bytes);
  // A last line without its end, if there is one.
  std::vector<std::string> finish();
  bool truncated() const { return truncated_; }
  bool flooded() const { return seen_ > kMaxSeen; }

 private:
  void keep(std::string_view part);
  void end_line(std::vector<std::string>& lines);

  std::string line_;
  bool skipping_ = false;  // the rest of a line that is too long
  std::size_t seen_ = 0;
  std::size_t total_ = 0;
  std::size_t count_ = 0;
  std::size_t values_ = 0;  // at most so many are in what was kept
  bool truncated_ = false;
};

// The last word of a runtime that is done: its exit code, said before its process is torn down.
std::optional<std::uint8_t> exit_line(std::string_view line);

}  // namespace glovebox::node
