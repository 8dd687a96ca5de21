#include "sessions/contexts/context_output.h"

#include <utility>

namespace glovebox::sessions {
namespace {

// A cheap check that is correct for everything our runtimes write; results are not parsed here.
bool may_be_event(std::string_view line) {
  constexpr std::string_view kBegin = "{\"type\":";
  if (!line.starts_with(kBegin)) return false;
  line.remove_prefix(kBegin.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line.starts_with("\"end\"") || line.starts_with("\"ready\"") ||
         line.starts_with("\"exit\"");
}

}  // namespace

std::vector<ContextOutput::Line> ContextOutput::add(std::string_view bytes) {
  std::vector<Line> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (is_long_) {
      give(part, lines);
    } else if (head_.size() + part.size() > kMaxEventBytes) {
      is_long_ = true;
      give(std::exchange(head_, {}), lines);
      give(part, lines);
    } else {
      head_.append(part);
    }
    if (end == std::string_view::npos) break;
    end_line(lines);
    bytes.remove_prefix(end + 1);
  }
  return lines;
}

void ContextOutput::end_line(std::vector<Line>& lines) {
  if (!is_long_ && events_ < kMaxEvents && may_be_event(head_)) {
    wire::ContextEvent event = wire::parse_context_event(head_);
    ++events_;
    if (!std::holds_alternative<std::monostate>(event)) {
      head_.clear();
      lines.push_back({.result = {}, .event = event});
      return;
    }
  }
  head_ += '\n';
  give(std::exchange(head_, {}), lines);
  is_long_ = false;
}

void ContextOutput::give(std::string_view part, std::vector<Line>& lines) {
  for (std::string& line : results_.add(part)) {
    lines.push_back({.result = std::move(line), .event = {}});
  }
}

}  // namespace glovebox::sessions
