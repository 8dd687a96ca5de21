// The handlers of /workspace/se: a client's own session ids onto our sandboxes, and its words onto
// the calls that /v1 uses. control/routes.cc says which path leads to which.
#pragma once

#include "control/app.h"
#include "http/message.h"

namespace glovebox::control::workspace {

using http::Request;
using http::Response;
using http::ResponseWriter;

Task<Response> create_session(App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_session(App& app, Request& request, ResponseWriter& writer);
Task<Response> session_status(App& app, Request& request, ResponseWriter& writer);
Task<Response> execute_code(App& app, Request& request, ResponseWriter& writer);
Task<Response> execute_command(App& app, Request& request, ResponseWriter& writer);
Task<Response> upload_file(App& app, Request& request, ResponseWriter& writer);
Task<Response> download_file(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_files(App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::control::workspace
