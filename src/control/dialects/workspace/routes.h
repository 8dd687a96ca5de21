// The rows of /workspace/se in the table of routes.
#pragma once

#include <span>

#include "control/routes.h"

namespace glovebox::control::workspace {

std::span<const RouteRow> rows();

}  // namespace glovebox::control::workspace
