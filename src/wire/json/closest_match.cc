#include "wire/json/closest_match.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace glovebox::wire {
namespace {

// The edit distance: insertions, removals and changes from one word to the other.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view closest_match(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kFarOff = 3;
  std::string_view nearest;
  std::size_t fewest = kFarOff;
  if (word.size() > 40) return nearest;
  for (const std::string_view candidate : known) {
    const std::size_t distance = slips(word, candidate);
    // "cpu" is not a typo of "net": at most half the word may differ.
    if (distance < fewest && distance * 2 <= candidate.size()) {
      fewest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace glovebox::wire
