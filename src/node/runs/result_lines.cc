#include "node/runs/result_lines.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace glovebox::node {

std::vector<std::string> ResultLines::add(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty() && !flooded()) {
    const std::size_t end = bytes.find('\n');
    keep(bytes.substr(0, end));
    if (end == std::string_view::npos) break;
    end_line(lines);
    if (++seen_ > kMaxSeen) truncated_ = true;
    bytes.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string> ResultLines::finish() {
  std::vector<std::string> lines;
  end_line(lines);
  return lines;
}

void ResultLines::keep(std::string_view part) {
  if (skipping_) return;
  if (line_.size() + part.size() > kMaxLine || total_ + part.size() > kMaxTotal ||
      count_ >= kMaxLines) {
    skipping_ = true;
    truncated_ = true;
    total_ -= line_.size();
    std::string().swap(line_);
    return;
  }
  total_ += part.size();
  line_.append(part);
}

void ResultLines::end_line(std::vector<std::string>& lines) {
  if (!skipping_ && !line_.empty()) {
    // Every value but the first of an object or array comes after a comma.
    const auto values = static_cast<std::size_t>(std::count_if(
        line_.begin(), line_.end(), [](char c) { return c == ',' || c == '[' || c == '{'; }));
    if (values_ + values > kMaxValues) {
      truncated_ = true;
      line_.clear();
    } else {
      values_ += values;
      ++count_;
      lines.push_back(std::exchange(line_, {}));
    }
  }
  skipping_ = false;
}

std::optional<std::uint8_t> exit_line(std::string_view line) {
  // Exactly as our runtimes write it; anything else is a result like any other.
  constexpr std::string_view kBegin = "{\"type\":\"exit\",\"code\":";
  if (!line.starts_with(kBegin) || !line.ends_with('}')) return std::nullopt;
  const std::string_view number = line.substr(kBegin.size(), line.size() - kBegin.size() - 1);
  std::uint8_t code = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), code);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return code;
}

}  // namespace glovebox::node
