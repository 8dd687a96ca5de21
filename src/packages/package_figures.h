// Figures of the book of packages, for /metrics.
#pragma once

#include <cstdint>

namespace glovebox::packages {

struct PackageFigures {
  std::uint64_t built = 0;   // builds that made a layer
  std::uint64_t reused = 0;  // that came to one which was there
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t corrupt = 0;  // layers that were found so
  std::uint32_t building = 0;
  std::uint32_t queued = 0;
  std::uint32_t templates = 0;  // of sets
  std::uint32_t layers = 0;     // as far as is known
  std::uint64_t layer_bytes = 0;
};

}  // namespace glovebox::packages
