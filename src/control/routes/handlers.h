// Every handler there is; control/routes.cc says which path leads to which.
#pragma once

#include "control/app.h"
#include "http/message.h"

namespace glovebox::control::routes {

using http::Request;
using http::Response;
using http::ResponseWriter;

Task<Response> post_run(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_runs(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_run(App& app, Request& request, ResponseWriter& writer);

Task<Response> list_templates(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_template(App& app, Request& request, ResponseWriter& writer);

Task<Response> create_key(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_keys(App& app, Request& request, ResponseWriter& writer);
Task<Response> revoke_key(App& app, Request& request, ResponseWriter& writer);

Task<Response> stream_events(App& app, Request& request, ResponseWriter& writer);

Task<Response> collect_garbage(App& app, Request& request, ResponseWriter& writer);
Task<Response> metrics(App& app, Request& request, ResponseWriter& writer);
Task<Response> health(App& app, Request& request, ResponseWriter& writer);
Task<Response> health_ready(App& app, Request& request, ResponseWriter& writer);

Task<Response> front_page(App& app, Request& request, ResponseWriter& writer);
Task<Response> openapi(App& app, Request& request, ResponseWriter& writer);
Task<Response> docs(App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::control::routes
