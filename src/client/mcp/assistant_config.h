// What assistants want to be told of a server of the Model Context Protocol: `glovebox mcp
// --print-config`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::client {

struct ConfigFacts {
  std::string program;            // absolute
  std::vector<std::string> args;  // behind it: "mcp", ...
  bool needs_key = false;         // args name a server; the key is in the environment
  std::string url;                // of /mcp, for those that speak HTTP
};

// Of one assistant, or of all when `name` is empty. kInvalidArgument lists the names.
Result<std::string> config_text(const ConfigFacts& facts, std::string_view name);
// All of them as one JSON object, by name.
std::string config_json(const ConfigFacts& facts);

}  // namespace glovebox::client
