// The handlers of /api/v1: sessions that run Lambda-style handlers, asynchronously. Logs and
// templates are those of /v1, which api/routes.cc names directly.
#pragma once

#include "routing/app.h"
#include "http/message.h"

namespace glovebox::sessions_api {

using http::Request;
using http::Response;
using http::ResponseWriter;

Task<Response> create_session(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_session(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_session(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> session_status(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> execute(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> execution_result(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_containers(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_container(routing::App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::sessions_api
