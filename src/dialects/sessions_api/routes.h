// The rows of /api/v1 in the table of routes.
#pragma once

#include <span>

#include "api/routes.h"

namespace glovebox::sessions_api {

std::span<const api::RouteRow> rows();

}  // namespace glovebox::sessions_api
