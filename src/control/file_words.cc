#include "control/file_words.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "control/clock.h"
#include "wire/base64_decode.h"
#include "wire/utf8.h"

namespace glovebox::control {
namespace {

namespace json = boost::json;

tl::unexpected<Error> bad_parameter(std::string_view name, std::string_view why) {
  return fail(Errc::kInvalidArgument, std::string(name) + ": " + std::string(why));
}

Result<std::string> good_path(std::string path, std::string_view name) {
  if (path.empty()) return bad_parameter(name, "must not be empty");
  if (path.size() > wire::kMaxSessionPath) return bad_parameter(name, "is longer than 4096 bytes");
  if (path.find('\0') != std::string::npos) return bad_parameter(name, "must not contain a NUL");
  return path;
}

bool is_user(std::string_view text) {
  return !text.empty() && text.size() <= wire::kMaxUserName &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c != ':' && c != '/' && c != '\x7f'; });
}

Result<std::string> good_owner(std::string_view text, std::string_view name) {
  const std::size_t colon = text.find(':');
  const std::string_view user = text.substr(0, colon);
  const bool good =
      is_user(user) && (colon == std::string_view::npos || is_user(text.substr(colon + 1)));
  if (!good) return bad_parameter(name, "must be a user, or user:group");
  return std::string(text);
}

Result<std::uint32_t> good_mode(std::string_view text, std::string_view name) {
  std::uint32_t mode = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (text.empty() || text.size() > 5 || ec != std::errc{} || end != text.data() + text.size() ||
      mode > 07777) {
    return bad_parameter(name, "must be octal digits like 0644");
  }
  return mode;
}

std::string_view type_name(wire::FileType type) {
  switch (type) {
    case wire::FileType::kFile:
      return "file";
    case wire::FileType::kDirectory:
      return "directory";
    case wire::FileType::kSymlink:
      return "symlink";
    case wire::FileType::kFifo:
      return "fifo";
    case wire::FileType::kSocket:
      return "socket";
    case wire::FileType::kCharDevice:
      return "char_device";
    case wire::FileType::kBlockDevice:
      return "block_device";
  }
  return "file";
}

// A guest's files can be of any time; what people and parsers know is between the years 1 and 9999.
std::string time_text(std::int64_t ns) {
  constexpr std::int64_t kFirst = -62'135'596'800'000;
  constexpr std::int64_t kLast = 253'402'300'799'000;
  std::int64_t ms = ns / 1'000'000;
  if (ms < 0) ms -= (ms % 1000 + 1000) % 1000;  // to the second, so that the rest is not negative
  return utc_text(std::clamp(ms, kFirst, kLast));
}

json::value name_or_null(const std::string& name) {
  return name.empty() ? json::value(nullptr) : json::value(wire::to_utf8(name));
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
    return bad_parameter("path", "goes not with path_base64");
  if (text == nullptr && encoded == nullptr) return bad_parameter("path", "is missing");
  if (text != nullptr) return good_path(*text, "path");
  auto bytes = wire::base64_decode(*encoded);
  if (!bytes) return bad_parameter("path_base64", bytes.error().message());
  return good_path(std::move(*bytes), "path_base64");
}

Result<std::string> FileQuery::user() {
  const std::string* text = take("user");
  if (text == nullptr) return std::string("user");
  if (!is_user(*text)) return bad_parameter("user", "must be the name or the number of a user");
  return *text;
}

Result<std::string> FileQuery::owner() {
  const std::string* text = take("owner");
  if (text == nullptr) return std::string();
  return good_owner(*text, "owner");
}

Result<std::optional<std::uint32_t>> FileQuery::mode() {
  const std::string* text = take("mode");
  if (text == nullptr) return std::nullopt;
  TRY(const std::uint32_t mode, good_mode(*text, "mode"));
  return mode;
}

Result<bool> FileQuery::truth(std::string_view name, bool otherwise) {
  const std::string* text = take(name);
  if (text == nullptr) return otherwise;
  if (*text == "true" || *text == "1" || text->empty()) return true;
  if (*text == "false" || *text == "0") return false;
  return bad_parameter(name, "must be true or false");
}

Result<std::uint64_t> FileQuery::whole(std::string_view name, std::uint64_t low, std::uint64_t high,
                                       std::uint64_t otherwise) {
  const std::string* text = take(name);
  if (text == nullptr) return otherwise;
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (ec != std::errc{} || end != text->data() + text->size() || number < low || number > high) {
    return bad_parameter(
        name, "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

Result<> FileQuery::finish() const {
  for (const auto& [name, value] : query_) {
    // Which project's sandbox it is was read elsewhere.
    if (name != "project" && std::find(known_.begin(), known_.end(), name) == known_.end()) {
      return bad_parameter(wire::printable(std::string_view(name).substr(0, 60)), "is not known");
    }
  }
  return {};
}

Result<std::string> read_path(wire::ObjectReader& fields, std::string_view name,
                              std::string_view name_base64) {
  constexpr std::size_t kMostEncoded = wire::kMaxSessionPath * 4 / 3 + 4;
  TRY(auto text, fields.text(name, wire::kMaxSessionPath));
  TRY(auto encoded, fields.text(name_base64, kMostEncoded));
  if (text && encoded) return fields.bad(name, "goes not with " + std::string(name_base64));
  if (!text && !encoded) return fields.bad(name, "is missing");
  if (text) return good_path(std::move(*text), name);
  auto bytes = wire::base64_decode(*encoded);
  if (!bytes) return fields.bad(name_base64, bytes.error().message());
  return good_path(std::move(*bytes), name_base64);
}

Result<std::string> read_owner(wire::ObjectReader& fields, std::string_view name) {
  TRY(const auto text, fields.text(name, 2 * wire::kMaxUserName + 1));
  if (!text) return std::string();
  return good_owner(*text, name);
}

Result<std::optional<std::uint32_t>> read_mode(wire::ObjectReader& fields, std::string_view name) {
  TRY(const auto text, fields.text(name, 8));
  if (!text) return std::nullopt;
  TRY(const std::uint32_t mode, good_mode(*text, name));
  return mode;
}

void add_path(json::object& object, const std::string& name, const std::string& bytes) {
  object[name] = wire::to_utf8(bytes);
  if (!wire::is_utf8(bytes)) object[name + "_base64"] = wire::base64(bytes);
}

std::string path_below(std::string_view directory, std::string_view below) {
  while (directory.size() > 1 && directory.back() == '/') directory.remove_suffix(1);
  std::string path(directory);
  if (below.empty()) return path;
  if (path.empty() || path.back() != '/') path += '/';
  return path.append(below);
}

std::string_view last_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  return path.size() == 1 || slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string mode_text(std::uint32_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", mode & 07777u);
  return text;
}

json::object entry_json(const wire::FileEntry& entry, const std::string& path) {
  json::object object;
  add_path(object, "path", path);
  object["name"] = wire::to_utf8(last_name(path));
  object["type"] = type_name(entry.type);
  object["size"] = entry.size;
  object["mode"] = mode_text(entry.mode);
  object["uid"] = entry.uid;
  object["gid"] = entry.gid;
  object["user"] = name_or_null(entry.user);
  object["group"] = name_or_null(entry.group);
  object["modified_at"] = time_text(entry.modified_ns);
  object["target"] = nullptr;
  if (entry.type == wire::FileType::kSymlink) add_path(object, "target", entry.target);
  return object;
}

Result<wire::FileEntry> entry_of(std::string_view record) {
  wire::RecordReader reader;
  if (record.size() <= wire::kMaxFileRecord + sizeof(std::uint32_t)) reader.add(record);
  auto whole = reader.next();
  if (!whole || !*whole || !reader.empty()) {
    return fail(Errc::kProtocol, "the sandbox told of a file in words that are none");
  }
  return wire::decode_file_entry(**whole);
}

http::Response file_problem(const Error& error) {
  const auto say = [&error](int status, const char* code) {
    return http::Response::refuse(status, code, error.message());
  };
  switch (error.sys_errno()) {
    case 0:
      return http::Response::from_error(error);
    case ENOENT:
      return say(404, "not_found");
    case EACCES:
    case EPERM:
    case EROFS:
      return say(403, "permission_denied");
    case EEXIST:
      return say(409, "exists");
    case ENOTEMPTY:
      return say(409, "not_empty");
    case EBUSY:
    case ETXTBSY:
      return say(409, "busy");
    case ENOTDIR:
      return say(400, "not_a_directory");
    case EISDIR:
      return say(400, "is_a_directory");
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
      return say(400, "invalid_argument");
    case EFBIG:
    case E2BIG:
      return say(413, "too_large");
    case ENOSPC:
    case EDQUOT:
      return say(507, "disk_full");
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM: {
      http::Response response = say(503, "unavailable");
      response.headers.set("Retry-After", "1");
      return response;
    }
    default:
      return http::Response::from_error(error);
  }
}

}  // namespace glovebox::control
