// The request of a filesystem.Filesystem call: its user and its path.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "dialects/e2b/envd/connect.h"
#include "http/message.h"

namespace glovebox::e2b {

struct FilesystemRequest {
  boost::json::object message;
  std::string user;
  std::string path;  // as the client sent it
  std::string at;    // as the sandbox resolves it
};

// `name` is the field with the path. Unknown fields are ignored.
tl::expected<FilesystemRequest, ConnectError> read_filesystem_request(
    const http::Request& request, std::string_view name = "path");

// One field; an absent one has proto3's default: empty, false, zero.
Result<std::string> text_field(const boost::json::object& message, std::string_view name);
Result<bool> truth_field(const boost::json::object& message, std::string_view name);
Result<std::uint32_t> number_field(const boost::json::object& message, std::string_view name);

// The absolute path that the sandbox reported for a requested path, cleaned.
std::string whole_path(const std::string& reported, const std::string& requested);

}  // namespace glovebox::e2b
