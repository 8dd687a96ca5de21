// The handlers of E2B's three planes; doors.cc says which path leads to which of the two inside a
// sandbox, control/routes.cc the control plane's.
#pragma once

#include "control/app.h"
#include "http/message.h"

namespace glovebox::control::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

// envd, process.Process
Task<Response> process_start(App& app, Request& request, ResponseWriter& writer);
Task<Response> process_connect(App& app, Request& request, ResponseWriter& writer);
Task<Response> process_list(App& app, Request& request, ResponseWriter& writer);
Task<Response> process_send_input(App& app, Request& request, ResponseWriter& writer);
// streams its body
Task<Response> process_stream_input(App& app, Request& request, ResponseWriter& writer);
Task<Response> process_close_stdin(App& app, Request& request, ResponseWriter& writer);
Task<Response> process_send_signal(App& app, Request& request, ResponseWriter& writer);
Task<Response> process_update(App& app, Request& request, ResponseWriter& writer);

// envd, filesystem.Filesystem
Task<Response> files_stat(App& app, Request& request, ResponseWriter& writer);
Task<Response> files_list_dir(App& app, Request& request, ResponseWriter& writer);
Task<Response> files_make_dir(App& app, Request& request, ResponseWriter& writer);
Task<Response> files_move(App& app, Request& request, ResponseWriter& writer);
Task<Response> files_remove(App& app, Request& request, ResponseWriter& writer);
Task<Response> files_watch_dir(App& app, Request& request, ResponseWriter& writer);
Task<Response> files_create_watcher(App& app, Request& request, ResponseWriter& writer);
Task<Response> files_get_watcher_events(App& app, Request& request, ResponseWriter& writer);
Task<Response> files_remove_watcher(App& app, Request& request, ResponseWriter& writer);

// envd, plain. The two of /files also serve signed URLs, which name no sandbox.
Task<Response> download(App& app, Request& request, ResponseWriter& writer);
Task<Response> upload(App& app, Request& request, ResponseWriter& writer);  // streams its body
Task<Response> envd_health(App& app, Request& request, ResponseWriter& writer);
Task<Response> envd_metrics(App& app, Request& request, ResponseWriter& writer);
Task<Response> envd_envs(App& app, Request& request, ResponseWriter& writer);

// The code interpreter
Task<Response> interpreter_execute(App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_create_context(App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_list_contexts(App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_restart_context(App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_delete_context(App& app, Request& request, ResponseWriter& writer);
Task<Response> interpreter_health(App& app, Request& request, ResponseWriter& writer);

// The control plane
Task<Response> create_sandbox(App& app, Request& request, ResponseWriter& writer);     // /sandboxes
Task<Response> create_sandbox_v2(App& app, Request& request, ResponseWriter& writer);  // /v2/...
Task<Response> list_sandboxes(App& app, Request& request, ResponseWriter& writer);     // running
Task<Response> list_sandboxes_v2(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_sandbox(App& app, Request& request, ResponseWriter& writer);
Task<Response> kill_sandbox(App& app, Request& request, ResponseWriter& writer);
Task<Response> set_timeout(App& app, Request& request, ResponseWriter& writer);
Task<Response> refresh(App& app, Request& request, ResponseWriter& writer);
Task<Response> pause(App& app, Request& request, ResponseWriter& writer);
Task<Response> resume(App& app, Request& request, ResponseWriter& writer);
Task<Response> connect(App& app, Request& request, ResponseWriter& writer);  // both generations
Task<Response> sandbox_metrics(App& app, Request& request, ResponseWriter& writer);
Task<Response> all_metrics(App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_logs(App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_logs_v2(App& app, Request& request, ResponseWriter& writer);
Task<Response> create_snapshot(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_snapshots(App& app, Request& request, ResponseWriter& writer);
Task<Response> fork(App& app, Request& request, ResponseWriter& writer);
Task<Response> update_network(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_templates(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_template_alias(App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_template(App& app, Request& request, ResponseWriter& writer);  // or snapshot
// What only a hosted service has: builds, volumes, secrets, teams. 501, and says so.
Task<Response> not_served(App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::control::e2b
