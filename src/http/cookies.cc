#include "http/cookies.h"

#include <algorithm>
#include <utility>

#include "http/ascii.h"

namespace glovebox::http {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_cookie_header(std::string_view field) {
  constexpr std::string_view kName = "cookie";
  return field.size() == kName.size() && std::equal(field.begin(), field.end(), kName.begin(),
                                                    [](char a, char b) { return lower(a) == b; });
}

struct Pair {
  std::string_view name;
  std::string_view value;
  std::string_view whole;
};

// Takes the next pair off `rest`.
Pair take_pair(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(';'), rest.size());
  const std::string_view whole = without_blanks(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  const std::size_t equals = whole.find('=');
  if (equals == std::string_view::npos) return {.name = whole, .value = {}, .whole = whole};
  return {.name = without_blanks(whole.substr(0, equals)),
          .value = without_blanks(whole.substr(equals + 1)),
          .whole = whole};
}

}  // namespace

FoundCookie find_cookie(const Headers& headers, std::string_view name) {
  FoundCookie found;
  for (const auto& [field, value] : headers) {
    if (!is_cookie_header(field)) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const Pair pair = take_pair(rest);
      if (pair.name != name) continue;
      if (found.count++ == 0) found.value = pair.value;
    }
  }
  return found;
}

void remove_cookies(Headers& headers, std::string_view name) {
  Headers kept;
  for (const auto& [field, value] : headers) {
    if (!is_cookie_header(field)) {
      kept.add(field, value);
      continue;
    }
    std::string others;
    std::string_view rest = value;
    while (!rest.empty()) {
      const Pair pair = take_pair(rest);
      if (pair.name == name || pair.whole.empty()) continue;
      if (!others.empty()) others += "; ";
      others += pair.whole;
    }
    if (!others.empty()) kept.add(field, std::move(others));
  }
  headers = std::move(kept);
}

}  // namespace glovebox::http
