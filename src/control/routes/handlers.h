// Every handler there is; control/routes.cc says which path leads to which.
#pragma once

#include "control/app.h"
#include "http/message.h"

namespace glovebox::control::routes {

using http::Request;
using http::Response;
using http::ResponseWriter;

Task<Response> post_run(App& app, Request& request, ResponseWriter& writer);
Task<Response> invoke_function(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_runs(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_run(App& app, Request& request, ResponseWriter& writer);

Task<Response> post_exec(App& app, Request& request, ResponseWriter& writer);
asio::awaitable<void> exec_stream(App& app, Request& request, http::RawStream& raw);
Task<Response> list_processes(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_process(App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_process(App& app, Request& request, ResponseWriter& writer);
Task<Response> signal_process(App& app, Request& request, ResponseWriter& writer);
Task<Response> wait_process(App& app, Request& request, ResponseWriter& writer);
Task<Response> write_process(App& app, Request& request, ResponseWriter& writer);

Task<Response> create_context(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_contexts(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_context(App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_context(App& app, Request& request, ResponseWriter& writer);
Task<Response> interrupt_context(App& app, Request& request, ResponseWriter& writer);
Task<Response> post_code(App& app, Request& request, ResponseWriter& writer);

Task<Response> create_sandbox(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_sandboxes(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_sandbox(App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_sandbox(App& app, Request& request, ResponseWriter& writer);
Task<Response> change_sandbox(App& app, Request& request, ResponseWriter& writer);
Task<Response> pause_sandbox(App& app, Request& request, ResponseWriter& writer);
Task<Response> resume_sandbox(App& app, Request& request, ResponseWriter& writer);
Task<Response> keep_sandbox_alive(App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_network(App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_metrics(App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_logs(App& app, Request& request, ResponseWriter& writer);
Task<Response> create_snapshot(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_snapshots(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_snapshot(App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_snapshot(App& app, Request& request, ResponseWriter& writer);

Task<Response> read_file(App& app, Request& request, ResponseWriter& writer);
Task<Response> write_file(App& app, Request& request, ResponseWriter& writer);
Task<Response> remove_file(App& app, Request& request, ResponseWriter& writer);
Task<Response> stat_file(App& app, Request& request, ResponseWriter& writer);
Task<Response> file_exists(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_files(App& app, Request& request, ResponseWriter& writer);
Task<Response> make_directory(App& app, Request& request, ResponseWriter& writer);
Task<Response> move_file(App& app, Request& request, ResponseWriter& writer);
Task<Response> copy_file(App& app, Request& request, ResponseWriter& writer);
Task<Response> read_tar(App& app, Request& request, ResponseWriter& writer);
Task<Response> write_tar(App& app, Request& request, ResponseWriter& writer);
Task<Response> watch_files(App& app, Request& request, ResponseWriter& writer);
asio::awaitable<void> watch_files_stream(App& app, Request& request, http::RawStream& raw);

Task<Response> forward_to_port(App& app, Request& request, ResponseWriter& writer);
asio::awaitable<void> upgrade_to_port(App& app, Request& request, http::RawStream& stream);

Task<Response> create_template(App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_template(App& app, Request& request, ResponseWriter& writer);
Task<Response> list_templates(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_template(App& app, Request& request, ResponseWriter& writer);

Task<Response> list_layers(App& app, Request& request, ResponseWriter& writer);
Task<Response> get_layer(App& app, Request& request, ResponseWriter& writer);
Task<Response> build_layer(App& app, Request& request, ResponseWriter& writer);
Task<Response> remove_layer(App& app, Request& request, ResponseWriter& writer);
Task<Response> prune_layers(App& app, Request& request, ResponseWriter& writer);
Task<Response> check_layer(App& app, Request& request, ResponseWriter& writer);

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
