// The wall clock, for people: milliseconds since 1970 and how they are written.
#pragma once

#include <cstdint>
#include <string>

namespace glovebox {

std::int64_t wall_clock_ms();
// "2026-01-31T12:00:00.123Z"
std::string utc_text(std::int64_t ms);

}  // namespace glovebox
