#include "api/routes.h"

#include <boost/json.hpp>
#include <cstdio>
#include <vector>

#include "base/log.h"
#include "dialects/e2b/control_routes.h"
#include "dialects/e2b/envd_router.h"
#include "dialects/e2b/sandbox_access.h"
#include "dialects/e2b/handlers.h"
#include "dialects/mcp/routes.h"
#include "dialects/sessions_api/routes.h"
#include "dialects/workspace/routes.h"
#include "api/handlers.h"

namespace glovebox::api {
namespace {

using http::Method;
namespace json = boost::json;

constexpr std::size_t kRunBody = http::kRunBodyLimit;
constexpr std::size_t kSandboxBody = 1024 * 1024;  // metadata and env, in the longest spelling

constexpr RouteRow kRoutes[] = {
    {Method::kPost, "/v1/run", routing::Access::kKey, post_run,
     "Run code or a command in a fresh sandbox", kRunBody},
    {Method::kPost, "/v1/functions/invoke", routing::Access::kKey, invoke_function,
     "Call an AWS Lambda handler in a fresh sandbox", kRunBody},
    {Method::kGet, "/v1/runs", routing::Access::kKey, list_runs, "Runs of your project"},
    {Method::kGet, "/v1/runs/{id}", routing::Access::kKey, get_run, "One run, with its output"},
    {Method::kPost, "/v1/sandboxes", routing::Access::kKey, create_sandbox,
     "Make a sandbox that lives on", kSandboxBody},
    {Method::kGet, "/v1/sandboxes", routing::Access::kKey, list_sandboxes,
     "Sandboxes of your project"},
    {Method::kGet, "/v1/sandboxes/{id}", routing::Access::kKey, get_sandbox, "One sandbox"},
    {Method::kDelete, "/v1/sandboxes/{id}", routing::Access::kKey, delete_sandbox, "End a sandbox"},
    {Method::kPatch, "/v1/sandboxes/{id}", routing::Access::kKey, change_sandbox,
     "Change a sandbox's time to live, metadata or what it may reach", kSandboxBody},
    {Method::kGet, "/v1/sandboxes/{id}/network", routing::Access::kKey, sandbox_network,
     "What a sandbox may reach, and what it did"},
    {Method::kPost, "/v1/sandboxes/{id}/pause", routing::Access::kKey, pause_sandbox,
     "Stop a sandbox's processes where they are"},
    {Method::kPost, "/v1/sandboxes/{id}/resume", routing::Access::kKey, resume_sandbox,
     "Let a paused sandbox go on"},
    {Method::kPost, "/v1/sandboxes/{id}/keepalive", routing::Access::kKey, keep_sandbox_alive,
     "Begin a sandbox's time to live anew"},
    {Method::kGet, "/v1/sandboxes/{id}/metrics", routing::Access::kKey, sandbox_metrics,
     "What a sandbox uses, now and lately"},
    {Method::kGet, "/v1/sandboxes/{id}/logs", routing::Access::kKey, sandbox_logs,
     "What happened in a sandbox lately"},
    {Method::kPost, "/v1/sandboxes/{id}/snapshots", routing::Access::kKey, create_snapshot,
     "Keep what a sandbox has on its disk"},
    {Method::kGet, "/v1/snapshots", routing::Access::kKey, list_snapshots,
     "Snapshots of your project"},
    {Method::kGet, "/v1/snapshots/{id}", routing::Access::kKey, get_snapshot, "One snapshot"},
    {Method::kDelete, "/v1/snapshots/{id}", routing::Access::kKey, delete_snapshot,
     "Remove a snapshot"},
    {Method::kPost, "/v1/sandboxes/{id}/exec", routing::Access::kKey, post_exec,
     "Run a command in a sandbox", http::kDefaultBodyLimit},
    {Method::kGet, "/v1/sandboxes/{id}/exec/stream", routing::Access::kKey, nullptr,
     "A process and its client, live (WebSocket)", 0, exec_stream},
    {Method::kGet, "/v1/sandboxes/{id}/processes", routing::Access::kKey, list_processes,
     "The processes of a sandbox"},
    {Method::kGet, "/v1/sandboxes/{id}/processes/{process}", routing::Access::kKey, get_process,
     "One process"},
    {Method::kDelete, "/v1/sandboxes/{id}/processes/{process}", routing::Access::kKey,
     delete_process, "End a process and forget it"},
    {Method::kPost, "/v1/sandboxes/{id}/processes/{process}/signal", routing::Access::kKey,
     signal_process, "Send a process a signal"},
    {Method::kGet, "/v1/sandboxes/{id}/processes/{process}/wait", routing::Access::kKey,
     wait_process, "Wait until a process has ended"},
    {Method::kPost, "/v1/sandboxes/{id}/processes/{process}/stdin", routing::Access::kKey,
     write_process, "Write to a process", 2u << 20},
    {Method::kPost, "/v1/sandboxes/{id}/contexts", routing::Access::kKey, create_context,
     "Make a code context", 256 * 1024},
    {Method::kGet, "/v1/sandboxes/{id}/contexts", routing::Access::kKey, list_contexts,
     "The code contexts of a sandbox"},
    {Method::kGet, "/v1/sandboxes/{id}/contexts/{context}", routing::Access::kKey, get_context,
     "One code context"},
    {Method::kDelete, "/v1/sandboxes/{id}/contexts/{context}", routing::Access::kKey, delete_context,
     "End a code context"},
    {Method::kPost, "/v1/sandboxes/{id}/contexts/{context}/interrupt", routing::Access::kKey,
     interrupt_context, "Stop what a code context runs, and keep its state"},
    {Method::kPost, "/v1/sandboxes/{id}/code", routing::Access::kKey, post_code,
     "Run code in a context", http::kDefaultBodyLimit},
    {Method::kGet, "/v1/sandboxes/{id}/files", routing::Access::kKey, read_file,
     "The bytes of a file"},
    {Method::kPut, "/v1/sandboxes/{id}/files", routing::Access::kKey, write_file,
     "Write a file, whole or not at all", 0, nullptr, true},
    {Method::kDelete, "/v1/sandboxes/{id}/files", routing::Access::kKey, remove_file,
     "Remove a file or a tree"},
    {Method::kGet, "/v1/sandboxes/{id}/files/stat", routing::Access::kKey, stat_file,
     "What is known of a file"},
    {Method::kGet, "/v1/sandboxes/{id}/files/exists", routing::Access::kKey, file_exists,
     "Is there such a file?"},
    {Method::kGet, "/v1/sandboxes/{id}/files/list", routing::Access::kKey, list_files,
     "What is in a directory"},
    {Method::kPost, "/v1/sandboxes/{id}/files/mkdir", routing::Access::kKey, make_directory,
     "Make a directory and its parents"},
    {Method::kPost, "/v1/sandboxes/{id}/files/move", routing::Access::kKey, move_file,
     "Move a file or a tree"},
    {Method::kPost, "/v1/sandboxes/{id}/files/copy", routing::Access::kKey, copy_file,
     "Copy a file or a tree"},
    {Method::kGet, "/v1/sandboxes/{id}/files/tar", routing::Access::kKey, read_tar,
     "A tree as a tar archive"},
    {Method::kPut, "/v1/sandboxes/{id}/files/tar", routing::Access::kKey, write_tar,
     "Unpack a tar archive", 0, nullptr, true},
    {Method::kGet, "/v1/sandboxes/{id}/files/watch", routing::Access::kKey, watch_files,
     "What happens to files, live (also as a WebSocket)", 0, watch_files_stream},
    {Method::kGet, "/v1/sandboxes/{id}/ports/{port}/{path*}", routing::Access::kKey, forward_to_port,
     "Ask a service inside a sandbox", 0, upgrade_to_port, true},
    {Method::kPost, "/v1/sandboxes/{id}/ports/{port}/{path*}", routing::Access::kKey,
     forward_to_port, "Ask a service inside a sandbox", 0, nullptr, true},
    {Method::kPut, "/v1/sandboxes/{id}/ports/{port}/{path*}", routing::Access::kKey, forward_to_port,
     "Ask a service inside a sandbox", 0, nullptr, true},
    {Method::kPatch, "/v1/sandboxes/{id}/ports/{port}/{path*}", routing::Access::kKey,
     forward_to_port, "Ask a service inside a sandbox", 0, nullptr, true},
    {Method::kDelete, "/v1/sandboxes/{id}/ports/{port}/{path*}", routing::Access::kKey,
     forward_to_port, "Ask a service inside a sandbox", 0, nullptr, true},
    {Method::kGet, "/v1/templates", routing::Access::kKey, list_templates,
     "What sandboxes can be made of"},
    {Method::kPost, "/v1/templates", routing::Access::kKey, create_template,
     "Make a template of your project's own", kSandboxBody},
    {Method::kGet, "/v1/templates/{name}", routing::Access::kKey, get_template,
     "One template, and how it is doing"},
    {Method::kDelete, "/v1/templates/{name}", routing::Access::kKey, delete_template,
     "Remove a template of your project's own"},
    {Method::kGet, "/v1/layers", routing::Access::kKey, list_layers,
     "Sets of packages that were installed"},
    {Method::kPost, "/v1/layers", routing::Access::kKey, build_layer,
     "Install a set of packages ahead", kSandboxBody},
    {Method::kPost, "/v1/layers/prune", routing::Access::kAdmin, prune_layers,
     "Remove layers that are not used"},
    {Method::kGet, "/v1/layers/{id}", routing::Access::kKey, get_layer, "One layer"},
    {Method::kDelete, "/v1/layers/{id}", routing::Access::kAdmin, remove_layer, "Remove a layer"},
    {Method::kPost, "/v1/layers/{id}/check", routing::Access::kAdmin, check_layer,
     "Compare a layer with what it was"},
    {Method::kGet, "/v1/events", routing::Access::kKey, stream_events,
     "What happens in your project, live"},
    {Method::kPost, "/v1/keys", routing::Access::kAdmin, create_key, "Make a key"},
    {Method::kGet, "/v1/keys", routing::Access::kAdmin, list_keys,
     "All keys, without their secrets"},
    {Method::kDelete, "/v1/keys/{id}", routing::Access::kAdmin, revoke_key, "Revoke a key"},
    {Method::kPost, "/v1/gc", routing::Access::kAdmin, collect_garbage,
     "Remove what is past its retention"},
    {Method::kGet, "/metrics", routing::Access::kOperator, metrics, "Figures for Prometheus"},
    {Method::kGet, "/health", routing::Access::kOpen, health, "Is the server alive?"},
    {Method::kGet, "/health/ready", routing::Access::kOpen, health_ready,
     "Can the server run something now?"},
    {Method::kGet, "/openapi.yaml", routing::Access::kOperator, openapi, "This contract"},
    {Method::kGet, "/docs", routing::Access::kOperator, docs, "This contract, for people"},
    {Method::kGet, "/", routing::Access::kOpen, front_page, "Where to look"},
};

// Ours, and the dialects'.
std::vector<RouteRow> joined_rows() {
  std::vector<RouteRow> rows(std::begin(kRoutes), std::end(kRoutes));
  const auto e2b = e2b::control_routes();
  rows.insert(rows.end(), e2b.begin(), e2b.end());
  for (const auto& dialect : {workspace::rows(), sessions_api::rows(), mcp::rows()}) {
    rows.insert(rows.end(), dialect.begin(), dialect.end());
  }
  return rows;
}

Task<http::Response> ask_for_upgrade(routing::App&, http::Request&, http::ResponseWriter&) {
  http::Response response =
      http::Response::refuse(426, "upgrade_required", "this path is for WebSockets");
  response.headers.add("Upgrade", "websocket");
  co_return response;
}

http::Response in_e2b_words(const http::Response& refused) {
  http::Response answer = e2b::refusal(refused.status, refused.problem->message);
  for (const auto& [name, value] : refused.headers) {  // Retry-After, WWW-Authenticate
    if (answer.headers.find(name) == nullptr) answer.headers.add(name, value);
  }
  return answer;
}

// An error becomes an answer by our own table unless the dialect has a form of its own. After the
// first byte of a stream there is no other form: the connection is cut.
Task<http::Response> in_e2b_form(routing::App& app, const RouteRow& row, http::Request& request,
                                 http::ResponseWriter& writer) {
  Result<http::Response> answer = co_await row.handler(app, request, writer);
  if (!answer && !writer.begun()) co_return e2b::refusal(answer.error());
  if (answer && answer->problem) co_return in_e2b_words(*answer);
  co_return answer;
}

const RouteRow* find_row(const http::Request& request) {
  for (const RouteRow& row : all_routes()) {
    // HEAD is answered by GET's handler.
    const bool same = row.method == request.method ||
                      (request.method == Method::kHead && row.method == Method::kGet);
    if (same && row.pattern == request.route) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const RouteRow> all_routes() {
  static const std::vector<RouteRow> rows = joined_rows();
  return rows;
}

std::string_view access_name(routing::Access access) {
  switch (access) {
    case routing::Access::kOpen:
      return "open";
    case routing::Access::kOperator:
      return "operator";
    case routing::Access::kKey:
      return "key";
    case routing::Access::kAdmin:
      return "admin";
  }
  return "admin";
}

http::Handler route_handler(routing::App& app, const RouteRow& row) {
  if (row.dialect == Dialect::kE2b) {
    return [&app, &row](http::Request& request, http::ResponseWriter& writer) {
      return in_e2b_form(app, row, request, writer);
    };
  }
  return [&app, handler = row.handler != nullptr ? row.handler : ask_for_upgrade](
             http::Request& request, http::ResponseWriter& writer) {
    return handler(app, request, writer);
  };
}

http::Router make_router(routing::App& app, std::size_t max_run_body) {
  http::Router router;
  for (const RouteRow& row : all_routes()) {
    http::Route route;
    route.method = row.method;
    route.pattern = row.pattern;
    route.handler = route_handler(app, row);
    if (row.dialect == Dialect::kE2b) route.cors = http::Cors::kAny;
    if (row.upgrade != nullptr) {
      route.upgrade = [&app, upgrade = row.upgrade](http::Request& request,
                                                    http::RawStream& stream) {
        return upgrade(app, request, stream);
      };
    }
    route.streams_body = row.streams_body;
    route.max_body = row.max_body == kRunBody ? max_run_body : row.max_body;
    router.add(std::move(route));
  }
  return router;
}

std::optional<http::Response> admit(routing::App& app, const http::Request& request) {
  const RouteRow* row = find_row(request);
  // What is not in the table is nobody's: fail closed.
  auto refused = refuse(app, request, row != nullptr ? row->access : routing::Access::kAdmin);
  if (refused && refused->problem && row != nullptr && row->dialect == Dialect::kE2b) {
    return in_e2b_words(*refused);
  }
  return refused;
}

void log_exchange(routing::App& app, const http::Exchange& exchange) {
  app.metrics.count_answer(exchange.status);
  if (!app.settings.log_requests) return;
  const http::Request& request = exchange.request;
  const auto who = routing::principal_of(app, request);
  char ms[32];
  std::snprintf(ms, sizeof ms, "%.3f", static_cast<double>(exchange.took.count()) / 1000.0);
  log::info("request", {{"request", request.id},
                        {"method", std::string(http::method_name(request.method))},
                        {"route", request.route.empty() ? "-" : request.route},
                        {"status", std::to_string(exchange.status)},
                        {"ms", ms},
                        {"key", who ? who->key.str() : "-"},
                        {"gone", exchange.client_gone ? "yes" : "no"}});
}

namespace {

json::object row_json(const RouteRow& row, std::string_view access) {
  return {{"method", http::method_name(row.method)},
          {"path", row.pattern},
          {"access", access},
          {"summary", row.summary}};
}

bool is_ours(const RouteRow& wanted) {
  for (const RouteRow& row : all_routes()) {
    if (row.method == wanted.method && row.pattern == wanted.pattern) return true;
  }
  return false;
}

}  // namespace

std::string routes_json() {
  json::array rows;
  for (const RouteRow& row : all_routes()) rows.push_back(row_json(row, access_name(row.access)));
  // A sandbox's own paths, by host or header; where we have the same one, it is the contract's.
  for (const auto& door : {e2b::envd_routes(), e2b::interpreter_routes()}) {
    for (const RouteRow& row : door) {
      if (!is_ours(row)) rows.push_back(row_json(row, "sandbox"));
    }
  }
  return json::serialize(rows) + "\n";
}

}  // namespace glovebox::api
