// The beginning and the end of a text that may be too long for its reader: of a build's log both
// are useful, and the middle is not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glovebox::mcp {

class TruncatedText {
 public:
  explicit TruncatedText(std::size_t limit) : half_(limit / 2) {}

  void add(std::string_view bytes);
  bool empty() const { return total_ == 0; }
  bool is_cut() const { return total_ > 2 * half_; }
  std::uint64_t total() const { return total_; }
  // UTF-8, with a line in the middle that says how much is not there.
  std::string text() const { return text(2 * half_); }
  // The same of at most `most` bytes, and that line: bytes that are not UTF-8 take more room as
  // text.
  std::string text(std::size_t most, bool* was_cut = nullptr) const;

 private:
  std::string cut(std::size_t half) const;

  std::size_t half_;
  std::uint64_t total_ = 0;
  std::string head_;
  std::string tail_;  // up to twice as long as what is kept in the end
};

std::string truncate_middle(std::string_view text, std::size_t limit);

// The room for text in one result, which everything in it shares.
class TextRoom {
 public:
  explicit TextRoom(std::size_t bytes) : left_(bytes) {}

  // For the next text, when `others` bytes come after it: what these leave, and at least half of
  // what is left.
  std::size_t share(std::uint64_t others) const {
    const std::uint64_t room = left_;
    const std::uint64_t theirs = others == 0 ? 0 : others + kLabels;
    return static_cast<std::size_t>(std::max(room / 2, room - std::min(room, theirs)));
  }
  void take(std::size_t bytes) { left_ -= std::min(left_, bytes); }
  bool is_full() const { return left_ == 0; }

 private:
  static constexpr std::uint64_t kLabels = 512;  // labels, and notes about what is left out

  std::size_t left_;
};

}  // namespace glovebox::mcp
