// The handlers of /api/v1: sessions that run Lambda-style handlers, asynchronously. Logs and
// templates are those of /v1, which control/routes.cc names directly.
#pragma once

#include "control/app.h"
#include "http/message.h"

namespace glovebox::control::sessions_api {

using http::Request;
using http::Response;
using http::ResponseWriter;

Task<Response> create_session(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_session(App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_session(App& app, Request& request, ResponseWriter& writer);
Task<Response> session_status(App& app, Request& request, ResponseWriter& writer);
Task<Response> execute(App& app, Request& request, ResponseWriter& writer);
Task<Response> execution_result(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_containers(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_container(App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::control::sessions_api
