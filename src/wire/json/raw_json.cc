#include "wire/json/raw_json.h"

#include <cstddef>

namespace glovebox::wire {
namespace {

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  const std::size_t next = text.find_first_not_of(" \t\r\n", at);
  return next == text.npos ? text.size() : next;
}

// Behind the string that begins at `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

// Behind the value that begins at `at`.
std::size_t skip_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at;
    } else if (c == '}' || c == ']' || c == ',') {
      if (depth == 0) return at;
      if (c != ',') --depth;
      ++at;
    } else {
      ++at;
    }
    if (depth == 0 && (c == '"' || c == '}' || c == ']')) return at;
  }
  return at;
}

}  // namespace

std::optional<std::string_view> raw_member(std::string_view object, std::string_view name) {
  std::size_t at = skip_blanks(object, 0);
  if (at >= object.size() || object[at] != '{') return std::nullopt;
  ++at;
  while (true) {
    at = skip_blanks(object, at);
    if (at >= object.size() || object[at] != '"') return std::nullopt;
    const std::size_t end = skip_string(object, at);
    if (end > object.size()) return std::nullopt;
    const std::string_view key = object.substr(at + 1, end - at - 2);
    at = skip_blanks(object, end);
    if (at >= object.size() || object[at] != ':') return std::nullopt;
    at = skip_blanks(object, at + 1);
    const std::size_t after = skip_value(object, at);
    if (after > object.size()) return std::nullopt;
    if (key == name) {
      std::string_view value = object.substr(at, after - at);
      value.remove_suffix(value.size() - (value.find_last_not_of(" \t\r\n") + 1));
      return value;
    }
    at = skip_blanks(object, after);
    if (at >= object.size() || object[at] != ',') return std::nullopt;
    ++at;
  }
}

}  // namespace glovebox::wire
