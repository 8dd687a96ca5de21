// JSON from strangers: one document, UTF-8, bounded in depth and in the number of values, and no
// key twice in one object (two readers of one text would see two requests).
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace glovebox::wire {

struct JsonBounds {
  std::size_t depth = 16;
  // A value in memory is several times as long as the shortest text of one.
  std::size_t values = 100'000;
};

// kInvalidArgument, and the byte at which it went wrong.
Result<boost::json::value> parse_strict_json(std::string_view text, JsonBounds bounds = {});

}  // namespace glovebox::wire
