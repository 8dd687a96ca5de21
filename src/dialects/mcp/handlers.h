// The handlers of /mcp.
#pragma once

#include "routing/app.h"
#include "http/message.h"

namespace glovebox::mcp {

using http::Request;
using http::Response;
using http::ResponseWriter;

Task<Response> post_message(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> open_stream(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> end_conversation(routing::App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::mcp
