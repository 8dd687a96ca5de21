#include "base/wall_clock.h"

#include <chrono>
#include <cstdio>
#include <ctime>

namespace glovebox {

std::int64_t wall_clock_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string utc_text(std::int64_t ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "";
  char date[40];
  const std::size_t size = std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%.*s.%03dZ", static_cast<int>(size), date,
                static_cast<int>(ms % 1000));
  return text;
}

}  // namespace glovebox
