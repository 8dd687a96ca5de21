// Text in a JSON object; a field that is missing or of another kind is empty text.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace glovebox::attack {

inline std::string json_text(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return "";
  return std::string(value->get_string());
}

}  // namespace glovebox::attack
