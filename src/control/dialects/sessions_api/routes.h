// The rows of /api/v1 in the table of routes.
#pragma once

#include <span>

#include "control/routes.h"

namespace glovebox::control::sessions_api {

std::span<const RouteRow> rows();

}  // namespace glovebox::control::sessions_api
