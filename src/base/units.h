// Durations and sizes as people type them: "10s", "500ms", "256M", "1.5G".
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace glovebox {

inline constexpr std::uint64_t kMegabyte = 1u << 20;

// A bare number is seconds. Units: us, ms, s, m, h.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// A bare number is bytes. Units: K, M, G, T, with or without B or iB; all powers of 1024.
Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace glovebox
