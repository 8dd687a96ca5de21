// Suggestions for a misspelt name.
#pragma once

#include <cstddef>
#include <string_view>

namespace glovebox {

// How many letters must be inserted, removed, changed or swapped with their neighbour to turn one
// word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate (of a range of strings) that differs least from `word` in spelling; empty when none
// is close. The result refers to the range's string.
template <typename Range>
std::string_view nearest(std::string_view word, const Range& candidates) {
  constexpr std::size_t kLongestName = 100;
  if (word.size() > kLongestName) return {};
  std::string_view best;
  // A third of the letters wrong is a typing error; more is another word.
  std::size_t best_distance = (word.size() < 3 ? 1 : word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace glovebox
