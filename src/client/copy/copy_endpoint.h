// The two ends of `glovebox cp`: a path of ours, or ID:PATH in a sandbox.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::client {

struct CopyEnd {
  std::string sandbox;  // empty: here
  std::string path;
};

// "sb…:/path" is a sandbox's; a path of ours that looks like that is written "./sb…:/path".
CopyEnd parse_copy_end(std::string_view word);

// The last component; "." for "/" and for nothing.
std::string base_name(std::string_view path);
std::string join_path(const std::string& directory, const std::string& name);

// A path below a directory as a server tells it: relative, and no component that is empty, "." or
// "..", for it comes from a guest and becomes a path of ours.
bool is_plain_relative(std::string_view path);

}  // namespace glovebox::client
