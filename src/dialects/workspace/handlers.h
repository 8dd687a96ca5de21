// The handlers of /workspace/se: a client's own session ids onto our sandboxes, and its words onto
// the calls that /v1 uses. api/routes.cc says which path leads to which.
#pragma once

#include "routing/app.h"
#include "http/message.h"

namespace glovebox::workspace {

using http::Request;
using http::Response;
using http::ResponseWriter;

Task<Response> create_session(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_session(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> session_status(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> execute_code(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> execute_command(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> upload_file(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> download_file(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_files(routing::App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::workspace
