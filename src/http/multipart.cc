#include "http/multipart.h"

#include <strings.h>

#include <algorithm>

#include "base/percent_encoding.h"
#include "http/target.h"

namespace glovebox::http {
namespace {

constexpr std::string_view kLineBreak = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kMaxBlanks = 256;    // behind a boundary
constexpr std::size_t kMaxBoundary = 200;  // 70 by the book
constexpr std::size_t kMaxParameters = 16;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_special(char c) {
  return std::string_view("()<>@,;:\\\"/[]?=").find(c) != std::string_view::npos;
}

// Behind the quote; `text` is left behind the other. A backslash before anything else is one: names
// of files have them.
std::optional<std::string> quoted_string(std::string_view& text) {
  std::string value;
  while (!text.empty()) {
    char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return value;
    if (c == '\\' && !text.empty() && is_special(text.front())) {
      c = text.front();
      text.remove_prefix(1);
    }
    value.push_back(c);
  }
  return std::nullopt;
}

// "form-data; name=a; filename="b"": calls take(name, value) for each; false: it is not so.
template <class Take>
bool for_each_parameter(std::string_view text, Take take) {
  for (std::size_t count = 0; !(text = trimmed(text)).empty(); ++count) {
    if (text.front() != ';' || count == kMaxParameters) return false;
    text = trimmed(text.substr(1));
    if (text.empty()) return true;  // one too many at the end
    const std::size_t equals = text.find_first_of("=;");
    if (equals == std::string_view::npos || text[equals] == ';') return false;
    const std::string_view name = trimmed(text.substr(0, equals));
    text = trimmed(text.substr(equals + 1));
    std::string value;
    if (text.starts_with('"')) {
      text.remove_prefix(1);
      auto quoted = quoted_string(text);
      if (!quoted) return false;
      value = std::move(*quoted);
    } else {
      const std::string_view word = text.substr(0, text.find(';'));
      text.remove_prefix(word.size());
      value = trimmed(word);
    }
    take(name, std::move(value));
  }
  return true;
}

// "UTF-8''a%20b"; other alphabets are not known.
std::optional<std::string> extended_value(std::string_view text) {
  const std::size_t first = text.find('\'');
  const std::size_t second = text.find('\'', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || !equal_ignoring_case(text.substr(0, first), "utf-8")) {
    return std::nullopt;
  }
  auto decoded = percent_decode(text.substr(second + 1));
  if (!decoded) return std::nullopt;
  return std::move(*decoded);
}

bool read_disposition(std::string_view value, MultipartReader::Part& part) {
  const std::size_t end = value.find(';');
  if (!equal_ignoring_case(trimmed(value.substr(0, end)), "form-data")) return true;
  if (end == std::string_view::npos) return true;
  bool good = true;
  std::optional<std::string> extended;
  const bool whole = for_each_parameter(value.substr(end), [&](auto name, std::string text) {
    if (equal_ignoring_case(name, "name")) {
      part.name = std::move(text);
    } else if (equal_ignoring_case(name, "filename")) {
      part.filename = std::move(text);
    } else if (equal_ignoring_case(name, "filename*")) {
      extended = extended_value(text);
      good = good && extended;
    }
  });
  if (extended) part.filename = std::move(extended);
  return whole && good;
}

// All lines before the empty one.
bool read_part(std::string_view head, MultipartReader::Part& part) {
  bool found = false;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find(kLineBreak));
    head.remove_prefix(std::min(head.size(), line.size() + kLineBreak.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    if (!equal_ignoring_case(line.substr(0, colon), "Content-Disposition")) continue;
    if (found || !read_disposition(trimmed(line.substr(colon + 1)), part)) return false;
    found = true;
  }
  return true;  // a part without a name is ignored
}

}  // namespace

std::optional<std::string> multipart_boundary(std::string_view content_type) {
  const std::size_t end = content_type.find(';');
  if (end == std::string_view::npos ||
      !equal_ignoring_case(trimmed(content_type.substr(0, end)), "multipart/form-data")) {
    return std::nullopt;
  }
  std::optional<std::string> boundary;
  const bool whole = for_each_parameter(content_type.substr(end), [&](auto name, std::string text) {
    if (equal_ignoring_case(name, "boundary")) boundary = std::move(text);
  });
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (!whole || !boundary || boundary->empty() || boundary->size() > kMaxBoundary ||
      boundary->back() == ' ' || !std::all_of(boundary->begin(), boundary->end(), is_printable)) {
    return std::nullopt;
  }
  return boundary;
}

// The first boundary has no line break before it, unless something else is: so there is one.
MultipartReader::MultipartReader(const std::string& boundary)
    : delimiter_("\r\n--" + boundary), buffer_(kLineBreak) {}

void MultipartReader::add(std::string_view bytes) {
  buffer_.erase(0, at_);
  at_ = 0;
  data_ = {};
  buffer_.append(bytes);
}

MultipartReader::Event MultipartReader::next() {
  switch (state_) {
    case State::kPreamble:
      return find_first();
    case State::kBoundary:
      return after_boundary();
    case State::kHead:
      return read_head();
    case State::kData:
      return read_data();
    case State::kEnd:
      return Event::kEnd;
    case State::kBad:
      break;
  }
  return Event::kBad;
}

MultipartReader::Event MultipartReader::bad() {
  state_ = State::kBad;
  return Event::kBad;
}

MultipartReader::Event MultipartReader::find_first() {
  const std::size_t found = left().find(delimiter_);
  if (found != std::string_view::npos) {
    if (skipped_ + found > kMaxPreamble) return bad();
    at_ += found + delimiter_.size();
    state_ = State::kBoundary;
    return after_boundary();
  }
  const std::size_t keep = delimiter_.size() - 1;
  const std::size_t gone = left().size() > keep ? left().size() - keep : 0;
  at_ += gone;
  skipped_ += gone;
  return skipped_ > kMaxPreamble ? bad() : Event::kMore;
}

// "--" is the end. Else a line break, after optional blanks.
MultipartReader::Event MultipartReader::after_boundary() {
  std::size_t blanks = 0;
  while (blanks < left().size() && (left()[blanks] == ' ' || left()[blanks] == '\t')) ++blanks;
  if (blanks > kMaxBlanks) return bad();
  const std::string_view rest = left().substr(blanks);
  if (rest.size() < 2) return Event::kMore;
  if (blanks == 0 && rest.starts_with("--")) {
    at_ = buffer_.size();
    state_ = State::kEnd;
    return Event::kEnd;
  }
  if (!rest.starts_with(kLineBreak)) return bad();
  // The break stays: a head may be empty, and then this is the one before the empty line.
  at_ += blanks;
  state_ = State::kHead;
  return read_head();
}

MultipartReader::Event MultipartReader::read_head() {
  const std::size_t end = left().find(kHeadEnd, searched_);
  if (end == std::string_view::npos) {
    searched_ = left().size() - std::min(left().size(), kHeadEnd.size() - 1);
    return left().size() > kMaxHead ? bad() : Event::kMore;
  }
  searched_ = 0;
  if (end > kMaxHead) return bad();
  part_ = {};
  const std::string_view head = left().substr(0, end);
  if (!read_part(head.substr(std::min(head.size(), kLineBreak.size())), part_)) return bad();
  at_ += end + kHeadEnd.size();
  state_ = State::kData;
  is_fresh_ = true;
  return Event::kPart;
}

MultipartReader::Event MultipartReader::read_data() {
  if (is_fresh_) {
    // Some leave out the line break of a part that is empty: then its head's is the boundary's.
    const std::string_view boundary = std::string_view(delimiter_).substr(kLineBreak.size());
    const std::size_t known = std::min(boundary.size(), left().size());
    if (left().substr(0, known) == boundary.substr(0, known)) {
      if (known < boundary.size()) return Event::kMore;
      at_ += boundary.size();
      is_fresh_ = false;
      state_ = State::kBoundary;
      return Event::kPartEnd;
    }
    is_fresh_ = false;
  }
  const std::size_t found = left().find(delimiter_);
  if (found == 0) {
    at_ += delimiter_.size();
    state_ = State::kBoundary;
    return Event::kPartEnd;
  }
  std::size_t size = found;
  if (found == std::string_view::npos) {
    const std::size_t keep = delimiter_.size() - 1;
    size = left().size() > keep ? left().size() - keep : 0;
  }
  if (size == 0) return Event::kMore;
  data_ = left().substr(0, size);
  at_ += size;
  return Event::kData;
}

}  // namespace glovebox::http
