// E2B's control plane: its rows in the table of routes.
#pragma once

#include <span>

#include "api/routes.h"

namespace glovebox::e2b {

std::span<const api::RouteRow> control_routes();

}  // namespace glovebox::e2b
