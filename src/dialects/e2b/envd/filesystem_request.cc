#include "dialects/e2b/envd/filesystem_request.h"

#include <charconv>
#include <cmath>

#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/file_paths.h"
#include "dialects/e2b/envd/request_user.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

const json::value* field(const json::object& message, std::string_view name) {
  const json::value* value = message.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

tl::unexpected<Error> bad_field(std::string_view name, std::string_view what) {
  return fail(Errc::kInvalidArgument, std::string(name) + " must be " + std::string(what));
}

tl::unexpected<ConnectError> refuse_files(const Error& error) {
  return tl::unexpected<ConnectError>(failure_of(error));
}

}  // namespace

Result<std::string> text_field(const json::object& message, std::string_view name) {
  const json::value* value = field(message, name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return bad_field(name, "a string");
  return std::string(value->get_string());
}

Result<bool> truth_field(const json::object& message, std::string_view name) {
  const json::value* value = field(message, name);
  if (value == nullptr) return false;
  if (!value->is_bool()) return bad_field(name, "true or false");
  return value->get_bool();
}

// As in proto3's JSON: a number, or its digits in a string.
Result<std::uint32_t> number_field(const json::object& message, std::string_view name) {
  const json::value* value = field(message, name);
  if (value == nullptr) return 0;
  std::uint32_t number = 0;
  if (value->is_string()) {
    const auto& text = value->get_string();
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec != std::errc{} || end != text.data() + text.size())
      return bad_field(name, "a whole number");
    return number;
  }
  if (!value->is_number()) return bad_field(name, "a whole number");
  const auto real = value->to_number<double>();
  if (!(real >= 0 && real <= UINT32_MAX) || std::floor(real) != real) {
    return bad_field(name, "a whole number");
  }
  return static_cast<std::uint32_t>(real);
}

tl::expected<FilesystemRequest, ConnectError> read_filesystem_request(const http::Request& request,
                                                                      std::string_view name) {
  FilesystemRequest wanted;
  auto user = file_user(user_of(request));
  if (!user) {
    return tl::unexpected<ConnectError>(
        ConnectError{Code::kUnauthenticated, user.error().message()});
  }
  wanted.user = std::move(*user);
  auto message = read_message(request);
  if (!message) return refuse_files(message.error());
  wanted.message = std::move(*message);
  auto path = text_field(wanted.message, name);
  if (!path) return refuse_files(path.error());
  wanted.path = std::move(*path);
  auto at = request_path(wanted.path);
  if (!at) return refuse_files(at.error());
  wanted.at = std::move(*at);
  return wanted;
}

std::string whole_path(const std::string& reported, const std::string& requested) {
  return clean_path(reported, requested.starts_with('/') ? Parents::kKept : Parents::kResolved);
}

}  // namespace glovebox::e2b
