// The request of a call of filesystem.Filesystem: who asks, and for which path.
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
  std::string path;  // as the client wrote it
  std::string at;    // as the sandbox takes it
};

// `name` is the field with the path. Unknown fields are passed over.
tl::expected<FilesystemRequest, Failure> read_filesystem_request(const http::Request& request,
                                               std::string_view name = "path");

// One field; what is absent is what proto3 says it is: nothing, false, zero.
Result<std::string> text_field(const boost::json::object& message, std::string_view name);
Result<bool> truth_field(const boost::json::object& message, std::string_view name);
Result<std::uint32_t> number_field(const boost::json::object& message, std::string_view name);

// The whole path, as the sandbox told it for what was asked for.
std::string whole_path(const std::string& told, const std::string& asked);

}  // namespace glovebox::e2b
