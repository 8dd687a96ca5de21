// The rows of /workspace/se in the table of routes.
#pragma once

#include <span>

#include "api/routes.h"

namespace glovebox::workspace {

std::span<const api::RouteRow> rows();

}  // namespace glovebox::workspace
