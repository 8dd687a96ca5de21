// The documentation of all routes: every path the server answers, who may ask, and one line of what
// it does. api/openapi.yaml says the same at length; tests/style/openapi_test.py compares the two.
#pragma once

#include <string>
#include <vector>

#include "routing/route_table.h"

namespace glovebox::api {

// Of /v1 and the other paths of the server's own, then the dialects'.
std::vector<routing::RouteInfo> documented_routes();

// `glovebox-server routes`: the table as JSON, for the test.
std::string routes_json();

}  // namespace glovebox::api
