// The documentation of all routes: every path of the server, the access it requires, and a summary.
// api/openapi.yaml has the details; tests/style/openapi_test.py compares the two.
#pragma once

#include <string>
#include <vector>

#include "routing/route_table.h"

namespace glovebox::api {

// The routes of /v1 and the server's other own paths, then those of the dialects.
std::vector<routing::RouteInfo> documented_routes();

// `glovebox-server routes`: the table as JSON, for the test.
std::string routes_json();

}  // namespace glovebox::api
