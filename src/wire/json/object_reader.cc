#include "wire/json/object_reader.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdio>

#include "base/nearest.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

std::string short_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

}  // namespace

Result<ObjectReader> ObjectReader::open(const json::value& value, std::string path) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return fail(Errc::kInvalidArgument,
                (path.empty() ? "the request" : path) + ": must be an object");
  }
  return ObjectReader(*object, std::move(path));
}

std::string ObjectReader::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

tl::unexpected<Error> ObjectReader::bad(std::string_view name, std::string_view why) const {
  return fail(Errc::kInvalidArgument, path_of(name) + ": " + std::string(why));
}

const json::value* ObjectReader::take(std::string_view name) {
  known_.push_back(name);
  const json::value* value = object_->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<std::optional<std::string>> ObjectReader::text(std::string_view name,
                                                      std::size_t max_bytes) {
  const json::value* value = take(name);
  if (value == nullptr) return std::nullopt;
  const json::string* string = value->if_string();
  if (string == nullptr) return bad(name, "must be a string");
  if (string->size() > max_bytes) {
    return bad(name, "must have at most " + std::to_string(max_bytes) + " bytes");
  }
  return std::string(string->data(), string->size());
}

Result<std::optional<bool>> ObjectReader::truth(std::string_view name) {
  const json::value* value = take(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) return bad(name, "must be true or false");
  return value->get_bool();
}

Result<std::optional<std::uint64_t>> ObjectReader::whole(std::string_view name, std::uint64_t low,
                                                         std::uint64_t high) {
  const json::value* value = take(name);
  if (value == nullptr) return std::nullopt;
  std::optional<std::uint64_t> number;
  if (value->is_int64() && value->get_int64() >= 0) {
    number = static_cast<std::uint64_t>(value->get_int64());
  } else if (value->is_double()) {
    const double given = value->get_double();
    // 2^53: beyond it a double no longer says which whole number it is.
    if (given >= 0 && given <= 9007199254740992.0 && given == std::floor(given)) {
      number = static_cast<std::uint64_t>(given);
    }
  }
  if (!number || *number < low || *number > high) {
    return bad(
        name, "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

Result<std::optional<double>> ObjectReader::number(std::string_view name, double low, double high) {
  const json::value* value = take(name);
  if (value == nullptr) return std::nullopt;
  std::optional<double> number;
  if (value->is_double()) number = value->get_double();
  if (value->is_int64()) number = static_cast<double>(value->get_int64());
  // Written so that a NaN fails, too.
  if (!number || !(*number >= low && *number <= high)) {
    return bad(name, "must be a number from " + short_number(low) + " to " + short_number(high));
  }
  return number;
}

Result<std::vector<std::string>> ObjectReader::texts(std::string_view name, std::size_t max_count,
                                                     std::size_t max_bytes) {
  std::vector<std::string> out;
  const json::value* value = take(name);
  if (value == nullptr) return out;
  const json::array* array = value->if_array();
  if (array == nullptr) return bad(name, "must be a list of strings");
  if (array->size() > max_count) {
    return bad(name, "must have at most " + std::to_string(max_count) + " entries");
  }
  out.reserve(array->size());
  for (const json::value& element : *array) {
    const std::string at = std::string(name) + "[" + std::to_string(out.size()) + "]";
    const json::string* string = element.if_string();
    if (string == nullptr) return bad(at, "must be a string");
    if (string->size() > max_bytes) {
      return bad(at, "must have at most " + std::to_string(max_bytes) + " bytes");
    }
    out.emplace_back(string->data(), string->size());
    TRY_OK(check_no_nul(out.back(), path_of(at)));
  }
  return out;
}

Result<> ObjectReader::finish() const {
  for (const auto& field : *object_) {
    const std::string_view name(field.key().data(), field.key().size());
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string_view near = nearest(name, known_);
    std::string why = "unknown field";
    if (!near.empty()) why += "; did you mean \"" + std::string(near) + "\"?";
    return bad(name.substr(0, 60), why);
  }
  return {};
}

Result<> check_no_nul(std::string_view text, const std::string& path) {
  if (text.find('\0') == std::string_view::npos) return {};
  return fail(Errc::kInvalidArgument, path + ": must not have a NUL character");
}

}  // namespace glovebox::wire
