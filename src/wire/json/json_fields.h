// Fields that several JSON answers share.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "base/utf8.h"

namespace glovebox::wire {

// Milliseconds with three digits: a double of the same has as many as it needs.
inline std::string ms_text(std::chrono::microseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(time.count()) / 1000.0);
  return text;
}

template <class T>
std::string number_or_null(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "null";
}

// A program's output: as text, and as it was where it is no UTF-8.
inline void add_output(boost::json::object& object, const std::string& name,
                       const std::string& bytes) {
  const bool text = is_utf8(bytes);
  object[name] = text ? bytes : to_utf8(bytes);
  if (!text) object[name + "_base64"] = base64_encode(bytes);
}

// "" where the field is missing or of another kind.
inline std::string text_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

}  // namespace glovebox::wire
