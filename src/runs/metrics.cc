#include "runs/metrics.h"

#include <algorithm>

namespace glovebox::runs {

void Histogram::add(std::chrono::microseconds time) {
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), time.count());
  ++buckets_[static_cast<std::size_t>(bucket - kBounds.begin())];
  ++count_;
  sum_us_ += time.count();
}

void Metrics::count_run(store::RunStatus status, bool warm) {
  ++runs.at(static_cast<std::size_t>(status));
  // Without an outcome it is unknown whether its interpreter was warm.
  if (status != store::RunStatus::kError) ++(warm ? warm_runs : cold_runs);
}

void Metrics::count_phase(Phase phase, std::chrono::microseconds time) {
  phases[static_cast<std::size_t>(phase)].add(time);
}

}  // namespace glovebox::runs
