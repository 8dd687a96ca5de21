// Source or destination of `glovebox cp`: a local path, or ID:PATH in a sandbox.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::client {

struct CopyEndpoint {
  std::string sandbox;  // empty: a local path
  std::string path;
};

// "dev:/path" is in the sandbox with that name, id or beginning of an id. A local path of that form
// has to be written "./dev:/path".
CopyEndpoint parse_copy_endpoint(std::string_view word);

// The last component; "." for "/" and for nothing.
std::string base_name(std::string_view path);
std::string join_path(const std::string& directory, const std::string& name);

// Whether a path is relative and has no component that is empty, "." or "..". Paths from a guest
// must pass this before they become local paths.
bool is_plain_relative(std::string_view path);

}  // namespace glovebox::client
