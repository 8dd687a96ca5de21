// Sizes, ages and package lists of layers as text for a terminal.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace glovebox::client {

// "1.5M", "640".
std::string size_text(std::uint64_t bytes);
// "5s", "12m", "3h" or "8d" since a time like "2026-11-16T05:20:22Z"; "-" if it is malformed.
std::string age_text(const std::string& time, std::int64_t now_seconds);
// "numpy 2.1.0, pandas 2.2.3 and 4 more".
std::string packages_text(const boost::json::object& layer, std::size_t most);
// The answer of a prune: the ids, one a line, and "removed 3 layers, 1.5M". `things`: "layers".
Result<std::string> pruned_text(const std::string& body, const std::string& things);

}  // namespace glovebox::client
