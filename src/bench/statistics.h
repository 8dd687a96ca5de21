// Times of many calls, in rounds, and the figures that are made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glovebox::bench {

// Nearest rank: the smallest time that `fraction` of all are not above. 0 when there is none.
double percentile(std::vector<double> times, double fraction);

// What one subject did in one round.
struct Round {
  std::vector<double> ms;  // of the calls that succeeded
  std::uint64_t runs = 0;  // how many sandboxes that were; for most, one per call
  std::uint64_t errors = 0;
  double seconds = 0;  // from first to last, where calls overlap; else 0
  std::string note{};  // what else there is to say, and what was wrong
};

struct Figures {
  std::uint64_t n = 0;
  std::uint64_t errors = 0;
  double p50_ms = 0;      // of all rounds together
  double p99_ms = 0;      // of the best round: what else this machine does is not ours
  double per_second = 0;  // without the pauses between calls
};
Figures figures_of(const std::vector<Round>& rounds);

}  // namespace glovebox::bench
