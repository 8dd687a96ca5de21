// Times of many calls, in rounds, and their statistics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glovebox::bench {

// Nearest-rank percentile; 0 without values.
double percentile(std::vector<double> times, double fraction);

// The result of one subject in one round.
struct Round {
  std::vector<double> ms;  // of the calls that succeeded
  std::uint64_t runs = 0;  // number of sandboxes; usually one per call
  std::uint64_t errors = 0;
  double seconds = 0;  // from first to last, if calls overlap; else 0
  std::string note{};  // remarks and errors
};

struct Figures {
  std::uint64_t n = 0;
  std::uint64_t errors = 0;
  double p50_ms = 0;  // of all rounds together
  double p99_ms = 0;  // of the best round, to exclude other load on the machine; at least p50_ms
  double per_second = 0;  // without the pauses between calls
};
Figures figures_of(const std::vector<Round>& rounds);

}  // namespace glovebox::bench
