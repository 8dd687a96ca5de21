#include "wire/guest/guest_result.h"

#include <algorithm>
#include <iterator>

#include "wire/json/strict_json.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxMimeTypes = 16;
constexpr std::size_t kMaxTracebackLines = 500;

// "text/plain", "image/svg+xml", "application/vnd.x.y+json".
bool is_mime_type(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (name.size() > 100 || slash == 0 || slash == std::string_view::npos ||
      slash + 1 == name.size()) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '+' || c == '.' || c == '-' || c == '_';
  });
}

// JSON types may hold any value. So may those of a program's own, below a name that IANA has not
// registered ("myapp/plot"); every other type holds text.
bool may_hold_json(std::string_view mime) {
  if (mime.ends_with("json")) return true;
  constexpr std::string_view kRegistered[] = {"application", "audio", "example", "font",
                                              "haptics",     "image", "message", "model",
                                              "multipart",   "text",  "video"};
  const std::string_view first = mime.substr(0, mime.find('/'));
  return std::find(std::begin(kRegistered), std::end(kRegistered), first) == std::end(kRegistered);
}

std::optional<GuestResult> as_result(json::object& line) {
  json::value* mime = line.if_contains("mime");
  if (mime == nullptr || !mime->is_object()) return std::nullopt;
  GuestResult result;
  for (auto& form : mime->get_object()) {
    if (result.content.size() == kMaxMimeTypes) break;
    const std::string_view name(form.key().data(), form.key().size());
    if (!is_mime_type(name)) continue;
    if (!form.value().is_string() && !may_hold_json(name)) continue;
    result.content.emplace(form.key(), std::move(form.value()));
  }
  if (result.content.empty()) return std::nullopt;
  const json::value* main = line.if_contains("main");
  result.main = main != nullptr && main->is_bool() && main->get_bool();
  return result;
}

json::value text_or_empty(const json::object& line, std::string_view name) {
  const json::value* value = line.if_contains(name);
  return value != nullptr && value->is_string() ? *value : json::value("");
}

std::optional<GuestResult> as_error(const json::object& line) {
  const json::value* name = line.if_contains("name");
  if (name == nullptr || !name->is_string()) return std::nullopt;
  GuestResult error;
  error.is_error = true;
  error.content["code"] = "exception";
  error.content["name"] = *name;
  error.content["message"] = text_or_empty(line, "message");
  json::array traceback;
  const json::value* lines = line.if_contains("traceback");
  if (lines != nullptr && lines->is_array()) {
    for (const json::value& text : lines->get_array()) {
      if (text.is_string() && traceback.size() < kMaxTracebackLines) traceback.push_back(text);
    }
  }
  error.content["traceback"] = std::move(traceback);
  const json::value* number = line.if_contains("line");
  error.content["line"] =
      number != nullptr && number->is_int64() ? json::value(number->get_int64()) : nullptr;
  return error;
}

}  // namespace

std::optional<GuestResult> parse_guest_result(std::string_view line) {
  auto value = parse_strict_json(line, JsonBounds{.depth = 64, .values = 40'000});
  if (!value || !value->is_object()) return std::nullopt;
  json::object& object = value->get_object();
  const json::value* type = object.if_contains("type");
  if (type == nullptr || !type->is_string()) return std::nullopt;
  if (type->get_string() == "result") return as_result(object);
  if (type->get_string() == "error") return as_error(object);
  return std::nullopt;
}

SortedResults sort_results(const std::vector<std::string>& lines) {
  SortedResults sorted;
  for (const std::string& line : lines) {
    auto result = parse_guest_result(line);
    if (!result) continue;
    if (result->is_error) {
      sorted.exception = std::move(result->content);
    } else if (result->main) {
      sorted.main = std::move(result->content);
    } else {
      sorted.shown.emplace_back(std::move(result->content));
    }
  }
  return sorted;
}

}  // namespace glovebox::wire
