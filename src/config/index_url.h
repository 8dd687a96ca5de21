// The parsed URL of a package index: what a sandbox has to reach for it, and what of it may be
// shown. Its user and password never appear in a message.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "net/net_rule.h"

namespace glovebox::config {

struct IndexUrl {
  std::string text;   // as it was configured
  std::string shown;  // without a user and password, and without a '/' at its end
  std::string host;   // "pypi.org", or with a port that is not the scheme's: "pypi.org:8080"
  std::string path;   // "/simple", or nothing
  bool has_user = false;
  net::NetRule rule;  // its name or address, at its port
};

// http or https, a host name or a reachable address, and optionally a port and a path.
// kInvalidArgument explains what is wrong without repeating the URL.
Result<IndexUrl> parse_index_url(std::string_view text);

// A host of an index's files: a name, a wildcard name, or addresses; port 443 unless given.
Result<net::NetRule> parse_file_host(std::string_view text);

}  // namespace glovebox::config
