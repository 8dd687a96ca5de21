#include "sessions/files/file_json.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cstdio>

#include "base/base64.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "wire/json/request_fields.h"

namespace glovebox::sessions {
namespace {

namespace json = boost::json;

tl::unexpected<Error> bad_parameter(std::string_view name, std::string_view why) {
  return fail(Errc::kInvalidArgument, std::string(name) + ": " + std::string(why));
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

// A guest can give its files any time; parsers accept only the years 1 to 9999.
std::string time_text(std::int64_t ns) {
  constexpr std::int64_t kFirst = -62'135'596'800'000;
  constexpr std::int64_t kLast = 253'402'300'799'000;
  std::int64_t ms = ns / 1'000'000;
  if (ms < 0) ms -= (ms % 1000 + 1000) % 1000;  // round down, so that the rest is not negative
  return utc_text(std::clamp(ms, kFirst, kLast));
}

json::value name_or_null(const std::string& name) {
  return name.empty() ? json::value(nullptr) : json::value(to_utf8(name));
}

}  // namespace

Result<std::string> check_path(std::string path, std::string_view name) {
  if (path.empty()) return bad_parameter(name, "must not be empty");
  if (path.size() > wire::kMaxSessionPath) return bad_parameter(name, "is longer than 4096 bytes");
  if (path.find('\0') != std::string::npos) return bad_parameter(name, "must not contain a NUL");
  return path;
}

Result<std::string> check_owner(std::string_view text, std::string_view name) {
  const std::size_t colon = text.find(':');
  const std::string_view user = text.substr(0, colon);
  const bool good = wire::is_user_name(user) &&
                    (colon == std::string_view::npos || wire::is_user_name(text.substr(colon + 1)));
  if (!good) return bad_parameter(name, "must be user or user:group");
  return std::string(text);
}

Result<std::uint32_t> check_mode(std::string_view text, std::string_view name) {
  std::uint32_t mode = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (text.empty() || text.size() > 5 || ec != std::errc{} || end != text.data() + text.size() ||
      mode > 07777) {
    return bad_parameter(name, "must be octal digits like 0644");
  }
  return mode;
}

Result<std::string> read_path(wire::ObjectReader& fields, std::string_view name,
                              std::string_view name_base64) {
  constexpr std::size_t kMostEncoded = wire::kMaxSessionPath * 4 / 3 + 4;
  TRY(auto text, fields.text(name, wire::kMaxSessionPath));
  TRY(auto encoded, fields.text(name_base64, kMostEncoded));
  if (text && encoded)
    return fields.bad(name, "cannot be combined with " + std::string(name_base64));
  if (!text && !encoded) return fields.bad(name, "is missing");
  if (text) return check_path(std::move(*text), name);
  auto bytes = base64_decode(*encoded);
  if (!bytes) return fields.bad(name_base64, bytes.error().message());
  return check_path(std::move(*bytes), name_base64);
}

Result<std::string> read_owner(wire::ObjectReader& fields, std::string_view name) {
  TRY(const auto text, fields.text(name, 2 * wire::kMaxUserName + 1));
  if (!text) return std::string();
  return check_owner(*text, name);
}

Result<std::optional<std::uint32_t>> read_mode(wire::ObjectReader& fields, std::string_view name) {
  TRY(const auto text, fields.text(name, 8));
  if (!text) return std::nullopt;
  TRY(const std::uint32_t mode, check_mode(*text, name));
  return mode;
}

void add_path(json::object& object, const std::string& name, const std::string& bytes) {
  object[name] = to_utf8(bytes);
  if (!is_utf8(bytes)) object[name + "_base64"] = base64_encode(bytes);
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
  object["name"] = to_utf8(last_name(path));
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
    return fail(Errc::kProtocol, "malformed file entry from sandbox");
  }
  return wire::decode_file_entry(**whole);
}

}  // namespace glovebox::sessions
