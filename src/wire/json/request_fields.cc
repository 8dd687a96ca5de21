#include "wire/json/request_fields.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/base64.h"
#include "wire/guest/guest_frames.h"
#include "wire/guest/session_frames.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxExecText = 64u << 20;  // the server's own bound on a body is below
constexpr std::size_t kMaxEnvironment = 1024;

bool is_user_name_character(char c) { return c > ' ' && c != ':' && c != '/' && c != '\x7f'; }

}  // namespace

bool is_variable_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_user_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxUserName &&
         std::all_of(text.begin(), text.end(), is_user_name_character);
}

Result<std::vector<std::string>> read_environment(ObjectReader& fields, std::string_view name) {
  std::vector<std::string> out;
  const json::value* value = fields.take(name);
  if (value == nullptr) return out;
  const json::object* variables = value->if_object();
  if (variables == nullptr) return fields.bad(name, "must be an object of strings");
  if (variables->size() > kMaxEnvironment)
    return fields.bad(name, "must have at most 1024 entries");
  std::size_t bytes = 0;
  for (const auto& variable : *variables) {
    const std::string key(variable.key().data(), variable.key().size());
    const std::string at = std::string(name) + "." + key.substr(0, 60);
    if (!is_variable_name(key)) {
      return fields.bad(at, "a name may only have letters, digits and underscores");
    }
    const json::string* text = variable.value().if_string();
    if (text == nullptr) return fields.bad(at, "must be a string");
    out.push_back(key + "=" + std::string(text->data(), text->size()));
    TRY_OK(check_no_nul(out.back(), fields.path_of(at)));
    bytes += out.back().size() + 1;
  }
  if (bytes > kMaxExecBytes / 2) return fields.bad(name, "is larger than 64 KB");
  return out;
}

Result<std::string> read_user(ObjectReader& fields, std::string_view name) {
  TRY(auto user, fields.text(name, kMaxUserName));
  if (!user) return std::string("user");
  if (!is_user_name(*user)) return fields.bad(name, "invalid user name");
  return std::move(*user);
}

Result<std::optional<std::string>> read_directory(ObjectReader& fields, std::string_view name) {
  TRY(auto path, fields.text(name, kMaxSessionPath));
  if (!path) return path;
  TRY_OK(check_no_nul(*path, fields.path_of(name)));
  if (path->empty() || path->front() != '/') return fields.bad(name, "must be an absolute path");
  return path;
}

Result<std::optional<std::string>> read_bytes(ObjectReader& fields, std::string_view stem) {
  // The reader keeps the names it was asked for.
  const std::string_view encoded_name = stem == "data" ? "data_base64" : "stdin_base64";
  TRY(auto text, fields.text(stem, kMaxExecText));
  TRY(const auto encoded, fields.text(encoded_name, kMaxExecText));
  if (text && encoded) {
    return fields.bad(encoded_name, "cannot be combined with " + std::string(stem));
  }
  if (!encoded) return text;
  auto bytes = base64_decode(*encoded);
  if (!bytes) return fields.bad(encoded_name, bytes.error().message());
  return std::optional(std::move(*bytes));
}

}  // namespace glovebox::wire
