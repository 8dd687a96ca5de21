#include "dialects/e2b/cpu_usage.h"

#include <algorithm>

namespace glovebox::e2b {

double cpu_used_percent(const sessions::SessionSample& sample,
                        const sessions::SessionSample* before, std::uint32_t cpus) {
  // The clients expect a number also where nothing counts.
  if (before == nullptr || !sample.cpu_us || !before->cpu_us) return 0;
  if (sample.at_ms <= before->at_ms || *sample.cpu_us < *before->cpu_us) return 0;
  const auto spent_us = static_cast<double>(*sample.cpu_us - *before->cpu_us);
  const auto passed_us = static_cast<double>(sample.at_ms - before->at_ms) * 1000.0;
  return std::min(100.0 * spent_us / (passed_us * cpus), 100.0);
}

}  // namespace glovebox::e2b
