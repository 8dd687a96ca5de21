// Structured lines on standard error: a constant message and fields. Guest bytes never enter a
// message, and field values are escaped, so that a line stays a line.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace glovebox::log {

using Field = std::pair<std::string_view, std::string>;
using Fields = std::initializer_list<Field>;

// Silent below warnings unless GLOVEBOX_LOG=debug or info is set.
void debug(std::string_view message, Fields fields = {});
void info(std::string_view message, Fields fields = {});
void warn(std::string_view message, Fields fields = {});

}  // namespace glovebox::log
