// The rows of /mcp in the table of routes: the Model Context Protocol over streamable HTTP.
#pragma once

#include <span>

#include "api/routes.h"

namespace glovebox::mcp {

std::span<const api::RouteRow> rows();

}  // namespace glovebox::mcp
