#include "dialects/mcp/tool_call.h"

#include <cmath>
#include <utility>

namespace glovebox::mcp {

boost::json::object text_block(std::string text) {
  return {{"type", "text"}, {"text", std::move(text)}};
}

Result<std::chrono::milliseconds> read_timeout(const Settings& settings,
                                               wire::ObjectReader& fields) {
  const double most_s = static_cast<double>(settings.timeout.count()) / 1000.0;
  TRY(const auto seconds, fields.number("timeout_s", 0.001, most_s));
  if (!seconds) return settings.timeout;
  return std::chrono::milliseconds(std::llround(std::ceil(*seconds * 1000.0)));
}

}  // namespace glovebox::mcp
