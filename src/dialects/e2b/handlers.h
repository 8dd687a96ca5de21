// The handlers of E2B's three planes; doors.cc says which path leads to which of the two inside a
// sandbox, api/routes.cc the control plane's.
#pragma once

#include "routing/app.h"
#include "http/message.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

// envd, process.Process
Task<Response> process_start(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> process_connect(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> process_list(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> process_send_input(routing::App& app, Request& request, ResponseWriter& writer);
// streams its body
Task<Response> process_stream_input(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> process_close_stdin(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> process_send_signal(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> process_update(routing::App& app, Request& request, ResponseWriter& writer);

// envd, filesystem.Filesystem
Task<Response> files_stat(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> files_list_dir(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> files_make_dir(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> files_move(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> files_remove(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> files_watch_dir(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> files_create_watcher(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> files_get_watcher_events(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> files_remove_watcher(routing::App& app, Request& request, ResponseWriter& writer);

// envd, plain. The two of /files also serve signed URLs, which name no sandbox.
Task<Response> download(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> upload(routing::App& app, Request& request, ResponseWriter& writer);  // streams its body
Task<Response> envd_health(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> envd_metrics(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> envd_envs(routing::App& app, Request& request, ResponseWriter& writer);

// The code interpreter
Task<Response> interpreter_execute(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_create_context(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_list_contexts(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_restart_context(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_delete_context(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_health(routing::App& app, Request& request, ResponseWriter& writer);

// The control plane
Task<Response> create_sandbox(routing::App& app, Request& request, ResponseWriter& writer);     // /sandboxes
Task<Response> create_sandbox_v2(routing::App& app, Request& request, ResponseWriter& writer);  // /v2/...
Task<Response> list_sandboxes(routing::App& app, Request& request, ResponseWriter& writer);     // running
Task<Response> list_sandboxes_v2(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_sandbox(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> kill_sandbox(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> set_timeout(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> refresh(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> pause(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> resume(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> connect(routing::App& app, Request& request, ResponseWriter& writer);  // both generations
Task<Response> sandbox_metrics(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> all_metrics(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_logs(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_logs_v2(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> create_snapshot(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_snapshots(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> fork(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> update_network(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_templates(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_template_alias(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_template(routing::App& app, Request& request, ResponseWriter& writer);  // or snapshot
// What only a hosted service has: builds, volumes, secrets, teams. 501, and says so.
Task<Response> not_served(routing::App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::e2b
