// Signals by name, as clients write and read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/json/object_reader.h"

namespace glovebox::sessions {

// "TERM", "SIGTERM", "sigterm", "15", "RTMIN+1". Nothing: no such signal.
std::optional<int> parse_signal(std::string_view text);
// Reads a field that is a name or a number.
Result<int> read_signal(wire::ObjectReader& fields, std::string_view name);
// "SIGTERM"
std::string signal_name(int signal);

}  // namespace glovebox::sessions
