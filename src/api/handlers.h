// Every handler there is; api/routes.cc says which path leads to which.
#pragma once

#include "routing/app.h"
#include "http/message.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;

Task<Response> post_run(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> invoke_function(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_runs(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_run(routing::App& app, Request& request, ResponseWriter& writer);

Task<Response> post_exec(routing::App& app, Request& request, ResponseWriter& writer);
asio::awaitable<void> exec_stream(routing::App& app, Request& request, http::RawStream& raw);
Task<Response> list_processes(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_process(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_process(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> signal_process(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> wait_process(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> write_process(routing::App& app, Request& request, ResponseWriter& writer);

Task<Response> create_context(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_contexts(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_context(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_context(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> interrupt_context(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> post_code(routing::App& app, Request& request, ResponseWriter& writer);

Task<Response> create_sandbox(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_sandboxes(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_sandbox(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_sandbox(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> change_sandbox(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> pause_sandbox(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> resume_sandbox(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> keep_sandbox_alive(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_network(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_metrics(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> sandbox_logs(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> create_snapshot(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_snapshots(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_snapshot(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_snapshot(routing::App& app, Request& request, ResponseWriter& writer);

Task<Response> read_file(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> write_file(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> remove_file(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> stat_file(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> file_exists(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_files(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> make_directory(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> move_file(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> copy_file(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> read_tar(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> write_tar(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> watch_files(routing::App& app, Request& request, ResponseWriter& writer);
asio::awaitable<void> watch_files_stream(routing::App& app, Request& request, http::RawStream& raw);

Task<Response> forward_to_port(routing::App& app, Request& request, ResponseWriter& writer);
asio::awaitable<void> upgrade_to_port(routing::App& app, Request& request, http::RawStream& stream);

Task<Response> create_template(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> delete_template(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_templates(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_template(routing::App& app, Request& request, ResponseWriter& writer);

Task<Response> list_layers(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> get_layer(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> build_layer(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> remove_layer(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> prune_layers(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> check_layer(routing::App& app, Request& request, ResponseWriter& writer);

Task<Response> create_key(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> list_keys(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> revoke_key(routing::App& app, Request& request, ResponseWriter& writer);

Task<Response> stream_events(routing::App& app, Request& request, ResponseWriter& writer);

Task<Response> collect_garbage(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> metrics(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> health(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> health_ready(routing::App& app, Request& request, ResponseWriter& writer);

Task<Response> front_page(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> openapi(routing::App& app, Request& request, ResponseWriter& writer);
Task<Response> docs(routing::App& app, Request& request, ResponseWriter& writer);

}  // namespace glovebox::api
