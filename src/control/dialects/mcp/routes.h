// The rows of /mcp in the table of routes: the Model Context Protocol over streamable HTTP.
#pragma once

#include <span>

#include "control/routes.h"

namespace glovebox::control::mcp {

std::span<const RouteRow> rows();

}  // namespace glovebox::control::mcp
