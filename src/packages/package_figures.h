// Figures of the package service, for /metrics.
#pragma once

#include <cstdint>

namespace glovebox::packages {

struct PackageFigures {
  std::uint64_t built = 0;   // builds that made a new layer
  std::uint64_t reused = 0;  // builds that resolved to an existing layer
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t corrupt = 0;  // layers found corrupt
  std::uint32_t building = 0;
  std::uint32_t queued = 0;
  std::uint32_t templates = 0;  // of package sets
  std::uint32_t layers = 0;     // in the index
  std::uint64_t layer_bytes = 0;
};

}  // namespace glovebox::packages
