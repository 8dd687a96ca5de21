// A file in E2B's JSON form, and the errors of file requests in E2B's wording.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "dialects/e2b/envd/connect.h"
#include "http/message.h"
#include "wire/guest/file_records.h"

namespace glovebox::e2b {

// `path` is absolute. The entry has all details.
boost::json::object entry_json(const wire::FileEntry& entry, const std::string& path);
// What clients attach to files are the extended attributes user.e2b.KEY; a file may have others.
inline constexpr std::string_view kMetadataPrefix = "e2b.";
boost::json::object metadata_json(const wire::Metadata& metadata);
std::string permission_text(wire::FileType type, std::uint32_t mode);  // "-rw-r--r--"
std::string time_text(std::int64_t ns);  // "2026-01-02T03:04:05.678901234Z"

bool is_no_such_user(const Error& error);
// Of a Connect call; `path` is as the client gave it.
ConnectError file_failure(const Error& error, std::string_view path);
// The same of /files.
http::Response file_refusal(const Error& error, std::string_view path);

}  // namespace glovebox::e2b
