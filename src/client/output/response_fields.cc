#include "client/output/response_fields.h"

#include <boost/json.hpp>
#include <cstdio>

namespace glovebox::client {
namespace {

namespace json = boost::json;

std::string as_text(const json::value* value) {
  if (value == nullptr || value->is_null()) return "-";
  if (const json::string* text = value->if_string()) return std::string(*text);
  if (const json::array* list = value->if_array()) {
    std::string joined;
    for (const json::value& one : *list) {
      joined += (joined.empty() ? "" : ", ") + as_text(&one);
    }
    return joined.empty() ? "-" : joined;
  }
  if (value->is_double()) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value->get_double());
    return text;
  }
  if (const json::object* object = value->if_object()) {
    std::string joined;
    for (const auto& [name, inner] : *object) {
      joined += (joined.empty() ? "" : ", ") + std::string(name) + "=" + as_text(&inner);
    }
    return joined.empty() ? "-" : joined;
  }
  return json::serialize(*value);
}

}  // namespace

tl::unexpected<Error> unexpected_response() {
  return fail(Errc::kProtocol, "unexpected response from the server");
}

std::uint64_t number_field(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return 0;
  if (value->is_uint64()) return value->get_uint64();
  if (!value->is_int64() || value->get_int64() < 0) return 0;
  return static_cast<std::uint64_t>(value->get_int64());
}

std::string string_field(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

Result<json::object> parse_response(std::string_view body) {
  boost::system::error_code error;
  json::value parsed = json::parse(json::string_view(body.data(), body.size()), error);
  if (error || !parsed.is_object()) return unexpected_response();
  return std::move(parsed.get_object());
}

Result<json::array> array_field(const json::object& answer, std::string_view name) {
  const json::value* list = answer.if_contains(name);
  if (list == nullptr || !list->is_array()) return unexpected_response();
  return list->get_array();
}

std::string field_text(const json::object& object, std::string_view name) {
  return as_text(object.if_contains(name));
}

std::string field_text(const json::object& object, std::string_view outer, std::string_view name) {
  const json::value* inner = object.if_contains(outer);
  if (inner == nullptr || !inner->is_object()) return "-";
  return as_text(inner->get_object().if_contains(name));
}

}  // namespace glovebox::client
