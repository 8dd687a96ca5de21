#include "dialects/e2b/envd/file_entry.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdio>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "dialects/e2b/error_form.h"
#include "routing/file_query.h"
#include "sessions/files/file_json.h"
#include "wire/guest/session_frames.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using wire::FileType;

std::string_view type_name(FileType type) {
  switch (type) {
    case FileType::kFile:
      return "FILE_TYPE_FILE";
    case FileType::kDirectory:
      return "FILE_TYPE_DIRECTORY";
    default:
      return "FILE_TYPE_UNSPECIFIED";
  }
}

char type_letter(FileType type) {
  switch (type) {
    case FileType::kFile:
      return '-';
    case FileType::kDirectory:
      return 'd';
    case FileType::kSymlink:
      return 'l';
    case FileType::kFifo:
      return 'p';
    case FileType::kSocket:
      return 's';
    case FileType::kCharDevice:
      return 'c';
    case FileType::kBlockDevice:
      return 'b';
  }
  return '-';
}

std::string name_or_number(const std::string& name, std::uint32_t number) {
  return name.empty() ? std::to_string(number) : to_utf8(name);
}

// With the path as the client gave it.
std::string file_message(const Error& error, std::string_view path) {
  const std::string quoted = "path '" + to_utf8(path) + "' ";
  switch (error.sys_errno()) {
    case ENOENT:
      return quoted + "does not exist";
    case EISDIR:
      return quoted + "is a directory";
    case ENOTDIR:
      return quoted + "is not a directory";
    case ENOSPC:
    case EDQUOT:
      return "not enough disk space available: " + error.message();
    default:
      return error.message();
  }
}

int http_status_of(const Error& error) {
  switch (error.sys_errno()) {
    case ENOENT:
      return 404;
    case ENOSPC:
    case EDQUOT:
      return 507;
    case 0:
      return refusal(error).status;
    default:
      return routing::file_refusal(error).status;
  }
}

}  // namespace

std::string permission_text(FileType type, std::uint32_t mode) {
  std::string text(1, type_letter(type));
  for (int shift = 6; shift >= 0; shift -= 3) {
    text += (mode >> shift & 4) != 0 ? 'r' : '-';
    text += (mode >> shift & 2) != 0 ? 'w' : '-';
    text += (mode >> shift & 1) != 0 ? 'x' : '-';
  }
  const auto mark = [&](std::uint32_t bit, std::size_t at, char with, char without) {
    if ((mode & bit) != 0) text[at] = text[at] == 'x' ? with : without;
  };
  mark(04000, 3, 's', 'S');
  mark(02000, 6, 's', 'S');
  mark(01000, 9, 't', 'T');
  return text;
}

// A guest's file can have any time; clients parse the years 1 to 9999.
std::string time_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kFirst = -62'135'596'800;
  constexpr std::int64_t kLast = 253'402'300'799;
  std::int64_t seconds = ns / kSecond;
  std::int64_t rest = ns % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  const std::int64_t shown = std::clamp(seconds, kFirst, kLast);
  std::string text = utc_text(shown * 1000);
  text.resize(text.rfind('.'));
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%09dZ", shown == seconds ? static_cast<int>(rest) : 0);
  return text + fraction;
}

json::object metadata_json(const wire::Metadata& metadata) {
  json::object object;
  for (const auto& [key, value] : metadata) {
    if (key.starts_with(kMetadataPrefix)) object[key.substr(kMetadataPrefix.size())] = value;
  }
  return object;
}

json::object entry_json(const wire::FileEntry& entry, const std::string& path) {
  json::object object;
  const bool is_link = entry.type == FileType::kSymlink;
  object["name"] = to_utf8(sessions::last_name(path));
  object["type"] = !is_link    ? type_name(entry.type)
                   : entry.end ? type_name(entry.end->type)
                               : type_name(FileType::kSymlink);
  object["path"] = to_utf8(path);
  object["size"] = std::to_string(entry.size);
  object["mode"] = (is_link ? (entry.end ? entry.end->mode : 0) : entry.mode) & 0777u;
  object["permissions"] = permission_text(entry.type, entry.mode);
  object["owner"] = name_or_number(entry.user, entry.uid);
  object["group"] = name_or_number(entry.group, entry.gid);
  object["modifiedTime"] = time_text(entry.modified_ns);
  // A dangling link is shown as leading to itself.
  if (is_link) object["symlinkTarget"] = to_utf8(entry.end ? entry.end->path : path);
  json::object metadata = metadata_json(entry.metadata);
  if (!metadata.empty()) object["metadata"] = std::move(metadata);
  return object;
}

bool is_no_such_user(const Error& error) {
  return error.sys_errno() == EINVAL && error.message().starts_with(wire::kNoSuchUser);
}

ConnectError file_failure(const Error& error, std::string_view path) {
  if (is_no_such_user(error)) return {Code::kUnauthenticated, error.message()};
  ConnectError failure = failure_of(error);
  failure.message = file_message(error, path);
  return failure;
}

http::Response file_refusal(const Error& error, std::string_view path) {
  if (is_no_such_user(error)) return refusal(401, error.message());
  return refusal(http_status_of(error), file_message(error, path));
}

}  // namespace glovebox::e2b
