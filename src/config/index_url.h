// The address of a package index, taken apart: what a sandbox must reach for it, and what of it may
// be shown. Its user and password are in no message.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "net/net_rule.h"

namespace glovebox::config {

struct IndexUrl {
  std::string text;   // as it was said
  std::string shown;  // without a user and password, and without a '/' at its end
  std::string host;   // "pypi.org", or with a port that is not the scheme's: "pypi.org:8080"
  std::string path;   // "/simple", or nothing
  bool has_user = false;
  net::NetRule rule;  // its name or address, at its port
};

// http or https, a name or an address that can be somebody else's, perhaps a port and a path.
// kInvalidArgument says why not, and repeats nothing of it.
Result<IndexUrl> parse_index_url(std::string_view text);

// A place where an index's files are: a name, the names below one, or addresses; at port 443 unless
// it says another.
Result<net::NetRule> parse_file_host(std::string_view text);

}  // namespace glovebox::config
