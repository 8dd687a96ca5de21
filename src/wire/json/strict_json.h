// JSON from untrusted sources: one document, UTF-8, bounded in depth and in the number of values,
// no duplicate key in an object (two readers of one text could see two requests), and only finite
// numbers.
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

// kInvalidArgument, with the offset of the first wrong byte.
Result<boost::json::value> parse_strict_json(std::string_view text, JsonBounds bounds = {});

}  // namespace glovebox::wire
