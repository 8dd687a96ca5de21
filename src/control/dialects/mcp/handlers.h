// The handlers of /mcp.
#pragma once

#include "control/app.h"
#include "http/message.h"

namespace glovebox::control::mcp {

using http::Request;
using http::Response;
using http::ResponseWriter;

Task<Response> post_message(App& app, Request& request, ResponseWriter& writer);
Task<Response> open_stream(App& app, Request& request, ResponseWriter& writer);
Task<Response> end_conversation(App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::control::mcp
