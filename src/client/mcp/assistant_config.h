// Configuration of AI assistants for this MCP server: `glovebox mcp --print-config`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::client {

struct AssistantConnection {
  std::string program;            // absolute
  std::vector<std::string> args;  // its arguments: "mcp", ...
  bool needs_key = false;         // the arguments name a server, so the environment needs a key
  std::string url;                // of /mcp, for assistants that use HTTP
};

// For one assistant, or for all if `name` is empty. kInvalidArgument: unknown name.
Result<std::string> assistant_config_text(const AssistantConnection& connection,
                                          std::string_view name);
// All of them as one JSON object, by name.
std::string assistant_config_json(const AssistantConnection& connection);

}  // namespace glovebox::client
