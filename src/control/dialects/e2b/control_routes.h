// E2B's control plane: its rows in the table of routes.
#pragma once

#include <span>

#include "control/routes.h"

namespace glovebox::control::e2b {

std::span<const RouteRow> control_routes();

}  // namespace glovebox::control::e2b
