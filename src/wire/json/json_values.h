// JSON values that many answers share.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "base/wall_clock.h"

namespace glovebox::wire {

// Empty text is null.
inline boost::json::value text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return boost::json::value(to_utf8(text));
}

// 0 is null: it has not happened.
inline boost::json::value time_or_null(std::int64_t ms) {
  if (ms == 0) return nullptr;
  return boost::json::value(utc_text(ms));
}

inline boost::json::array text_array(const std::vector<std::string>& list) {
  boost::json::array out;
  for (const std::string& text : list) out.emplace_back(to_utf8(text));
  return out;
}

}  // namespace glovebox::wire
