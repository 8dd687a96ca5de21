// How a connection calls a handler: with exceptions turned into errors. Private to src/http.
#pragma once

#include "http/router.h"

namespace glovebox::http {

// Our code does not throw; what a library throws becomes an error of this one request. Out of
// memory goes on to the top of the program.
Task<Response> call_handler(const Handler& handler, Request& request, ResponseWriter& writer);

}  // namespace glovebox::http
