#include "client/exec/repl_input.h"

#include <utility>

namespace glovebox::client {
namespace {

std::string_view without_trailing_space(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  return line;
}

}  // namespace

// Whether a bracket or a long string is still open. Skips comments and short strings.
bool ReplInput::is_open() const {
  int depth = 0;
  char quote = 0;
  bool is_long = false;
  const bool python = language_ == "python";
  const bool shell = language_ == "bash";
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const char c = text_[i];
    if (quote != 0) {
      if (c == '\\' && !(shell && quote == '\'')) {
        ++i;
      } else if (c == quote && (!is_long || text_.compare(i, 3, std::string(3, quote)) == 0)) {
        i += is_long ? 2 : 0;
        quote = 0;
      } else if (c == '\n' && !is_long && python) {
        quote = 0;  // an error that the interpreter reports
      }
      continue;
    }
    if (c == '#' &&
        (python || (shell && (i == 0 || text_[i - 1] == ' ' || text_[i - 1] == '\n')))) {
      while (i + 1 < text_.size() && text_[i + 1] != '\n') ++i;
    } else if (c == '"' || c == '\'' || (c == '`' && language_ == "javascript")) {
      quote = c;
      is_long = python && text_.compare(i, 3, std::string(3, c)) == 0;
      i += is_long ? 2 : 0;
      if (c == '`') is_long = false;
    } else if (!shell && (c == '(' || c == '[' || c == '{')) {
      ++depth;
    } else if (!shell && (c == ')' || c == ']' || c == '}')) {
      --depth;
    }
  }
  return depth > 0 || (quote != 0 && (is_long || !python));
}

bool ReplInput::add(std::string_view line) {
  const std::string_view end = without_trailing_space(line);
  if (text_.empty() && end.empty()) return false;
  text_ += line;
  text_ += '\n';
  if (!end.empty() && end.back() == '\\') return false;
  if (is_open()) return false;
  if (language_ != "python") return true;
  if (block_) return end.empty();
  block_ = !end.empty() && (end.back() == ':' || end.front() == '@');
  return !block_;
}

std::string ReplInput::take() {
  block_ = false;
  return std::exchange(text_, {});
}

}  // namespace glovebox::client
