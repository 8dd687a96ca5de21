#include "routing/file_query.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/base64.h"
#include "base/utf8.h"
#include "sessions/files/file_json.h"
#include "wire/json/request_fields.h"

namespace glovebox::routing {
namespace {

tl::unexpected<Error> bad_query(std::string_view name, std::string_view why) {
  return fail(Errc::kInvalidArgument, std::string(name) + ": " + std::string(why));
}

}  // namespace

const std::string* FileQuery::take(std::string_view name) {
  known_.push_back(name);
  return query_.find(name);
}

Result<std::string> FileQuery::path() {
  const std::string* text = take("path");
  const std::string* encoded = take("path_base64");
  if (text != nullptr && encoded != nullptr)
    return bad_query("path", "cannot be combined with path_base64");
  if (text == nullptr && encoded == nullptr) return bad_query("path", "is missing");
  if (text != nullptr) return sessions::check_path(*text, "path");
  auto bytes = base64_decode(*encoded);
  if (!bytes) return bad_query("path_base64", bytes.error().message());
  return sessions::check_path(std::move(*bytes), "path_base64");
}

Result<std::string> FileQuery::user() {
  const std::string* text = take("user");
  if (text == nullptr) return std::string("user");
  if (!wire::is_user_name(*text)) return bad_query("user", "invalid user name");
  return *text;
}

Result<std::string> FileQuery::owner() {
  const std::string* text = take("owner");
  if (text == nullptr) return std::string();
  return sessions::check_owner(*text, "owner");
}

Result<std::optional<std::uint32_t>> FileQuery::mode() {
  const std::string* text = take("mode");
  if (text == nullptr) return std::nullopt;
  TRY(const std::uint32_t mode, sessions::check_mode(*text, "mode"));
  return mode;
}

Result<bool> FileQuery::truth(std::string_view name, bool otherwise) {
  const std::string* text = take(name);
  if (text == nullptr) return otherwise;
  if (*text == "true" || *text == "1" || text->empty()) return true;
  if (*text == "false" || *text == "0") return false;
  return bad_query(name, "must be true or false");
}

Result<std::uint64_t> FileQuery::whole(std::string_view name, std::uint64_t low, std::uint64_t high,
                                       std::uint64_t otherwise) {
  const std::string* text = take(name);
  if (text == nullptr) return otherwise;
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (ec != std::errc{} || end != text->data() + text->size() || number < low || number > high) {
    return bad_query(
        name, "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

Result<> FileQuery::finish() const {
  for (const auto& [name, value] : query_) {
    // The Authenticator reads `project`.
    if (name != "project" && std::find(known_.begin(), known_.end(), name) == known_.end()) {
      return bad_query(printable(std::string_view(name).substr(0, 60)), "unknown parameter");
    }
  }
  return {};
}

http::Response file_refusal(const Error& error) {
  const auto refuse = [&error](int status, const char* code) {
    return http::Response::refuse(status, code, error.message());
  };
  switch (error.sys_errno()) {
    case 0:
      return http::Response::from_error(error);
    case ENOENT:
      return refuse(404, "not_found");
    case EACCES:
    case EPERM:
    case EROFS:
      return refuse(403, "permission_denied");
    case EEXIST:
      return refuse(409, "exists");
    case ENOTEMPTY:
      return refuse(409, "not_empty");
    case EBUSY:
    case ETXTBSY:
      return refuse(409, "busy");
    case ENOTDIR:
      return refuse(400, "not_a_directory");
    case EISDIR:
      return refuse(400, "is_a_directory");
    case ELOOP:
    case EINVAL:
    case ENAMETOOLONG:
    case EXDEV:
    case ENXIO:
    case ENODEV:
    case EOVERFLOW:
    case EMLINK:
    case EBADMSG:
    case ESPIPE:
    case EOPNOTSUPP:
      return refuse(400, "invalid_argument");
    case EFBIG:
    case E2BIG:
      return refuse(413, "too_large");
    case ENOSPC:
    case EDQUOT:
      return refuse(507, "disk_full");
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM: {
      http::Response response = refuse(503, "unavailable");
      response.headers.set("Retry-After", "1");
      return response;
    }
    default:
      return http::Response::from_error(error);
  }
}

}  // namespace glovebox::routing
