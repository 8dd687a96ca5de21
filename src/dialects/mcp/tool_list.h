// What a model reads about the tools: names, descriptions and JSON Schemas.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "dialects/mcp/conversations.h"
#include "dialects/mcp/settings.h"

namespace glovebox::mcp {

// As tools/list answers it, with the server's own limits filled in.
boost::json::array list_tools(const Settings& settings);
// The `instructions` of initialize, about all tools together.
std::string instructions(const Settings& settings, const std::string& template_name,
                         const SandboxOptions& options);

}  // namespace glovebox::mcp
