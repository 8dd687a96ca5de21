// How a line of the log is written. GLOVEBOX_LOG_FORMAT chooses between text and JSON; `glovebox
// serve` sets it from log.format.
#pragma once

#include <limits.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/log.h"

namespace glovebox::log {

enum class Format { kText, kJson };
// What a pipe takes at once, less the line's end.
inline constexpr std::size_t kLongestLine = PIPE_BUF - 1;

// One line without its end, at most kLongestLine bytes. Text: `TIME glovebox LEVEL: MESSAGE
// key="value"`. JSON: an object with time, level, message, one string per field, and "cut": true if
// a value is not whole.
std::string format_line(Format format, std::int64_t at_ms, std::string_view level,
                        std::string_view message, Fields fields);

}  // namespace glovebox::log
