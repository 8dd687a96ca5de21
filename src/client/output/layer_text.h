// Sizes, ages and package lists of layers as text for a terminal.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>

namespace glovebox::client {

// "1.5M", "640".
std::string size_text(std::uint64_t bytes);
// "5s", "12m", "3h" or "8d" since a time like "2026-11-16T05:20:22Z"; "-" if it is malformed.
std::string age_text(const std::string& time, std::int64_t now_seconds);
// "numpy 2.1.0, pandas 2.2.3 and 4 more".
std::string packages_text(const boost::json::object& layer, std::size_t most);

}  // namespace glovebox::client
