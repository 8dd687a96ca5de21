#include "api/routes/operations_routes.h"

#include <boost/json.hpp>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/metrics_text.h"
#include "base/utf8.h"
#include "model/template_rules.h"
#include "store/store_call.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

json::array reasons_not_ready(const OperationsRoutes::Dependencies& deps) {
  json::array reasons;
  if (deps.is_stopping) reasons.emplace_back("the server is stopping");
  if (!deps.node.figures().launcher_up) {
    reasons.emplace_back("there is no launcher");
  } else if (!deps.session_service.adopted()) {
    reasons.emplace_back("the launcher has not reported its sandboxes yet");
  }
  if (const std::string full = deps.node.figures().host.full_reason; !full.empty()) {
    reasons.emplace_back("the host is full: " + full);
  }
  const store::Health store = deps.store.health();
  if (!store.ok) reasons.emplace_back(to_utf8(store.reason));
  return reasons;
}

// Adds up the pools of projects' own templates per engine, and the pools of sessions, each of which
// is one project's, per template: every operator may read the metrics, but what is a project's is
// visible only to that project.
std::vector<node::PoolFigures> with_projects_summed(std::vector<node::PoolFigures> pools) {
  std::vector<node::PoolFigures> shown;
  std::map<std::tuple<bool, std::string, EngineKind>, node::PoolFigures> own;
  for (node::PoolFigures& pool : pools) {
    const bool is_dynamic = is_dynamic_template_id(pool.template_name);
    if (!is_dynamic && !pool.is_of_sessions) {
      shown.push_back(std::move(pool));
      continue;
    }
    const std::string name = is_dynamic ? "own" : pool.template_name;
    node::PoolFigures& sum = own[{pool.is_of_sessions, name, pool.engine}];
    sum.template_name = name;
    sum.engine = pool.engine;
    sum.is_of_sessions = pool.is_of_sessions;
    sum.idle += pool.idle;
    sum.making += pool.making;
    sum.target += pool.target;
    sum.hits += pool.hits;
    sum.misses += pool.misses;
  }
  for (auto& [which, sum] : own) shown.push_back(std::move(sum));
  return shown;
}

}  // namespace

std::span<const routing::RouteRow<OperationsRoutes>> OperationsRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<OperationsRoutes> kRows[] = {
      {Method::kPost, "/v1/gc", routing::Access::kAdmin, &OperationsRoutes::collect_garbage,
       "Remove objects past their retention time"},
      {Method::kGet, "/metrics", routing::Access::kOperator, &OperationsRoutes::metrics,
       "Get metrics for Prometheus"},
      {Method::kGet, "/health", routing::Access::kOpen, &OperationsRoutes::health,
       "Check whether the server is alive"},
      {Method::kGet, "/health/ready", routing::Access::kOpen, &OperationsRoutes::health_ready,
       "Check whether the server can run code now"},
  };
  return kRows;
}

Task<Response> OperationsRoutes::health(Request&, ResponseWriter&) {
  json::object body{{"status", "ok"}, {"version", deps_.version}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> OperationsRoutes::health_ready(Request&, ResponseWriter&) {
  json::array reasons = reasons_not_ready(deps_);
  const bool ready = reasons.empty();
  json::object body{{"status", ready ? "ready" : "not_ready"}, {"reasons", std::move(reasons)}};
  // Without a gateway, only sandboxes that need a network have to wait, so the server is ready.
  body["gateway"] = deps_.node.figures().network.gateway_up ? "up" : "down";
  Response response = Response::json(json::serialize(body) + "\n", ready ? 200 : 503);
  if (!ready) response.headers.set("Retry-After", "1");
  co_return response;
}

Task<Response> OperationsRoutes::metrics(Request&, ResponseWriter&) {
  ServerFigures figures{.node = deps_.node.figures(),
                        .store = deps_.store.health(),
                        .http = deps_.http_figures(),
                        .templates = deps_.node.templates(),
                        .event_subscribers = deps_.events.subscribers(),
                        .sessions = deps_.registry.figures(),
                        .snapshots = deps_.snapshots.count(),
                        .snapshot_bytes = deps_.snapshots.bytes(),
                        .packages = deps_.packages.figures()};
  figures.node.pools = with_projects_summed(std::move(figures.node.pools));
  Response response = Response::text(metrics_text(deps_.metrics, figures));
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  co_return response;
}

Task<Response> OperationsRoutes::collect_garbage(Request&, ResponseWriter&) {
  const store::Ask<store::GcReport> ask = [&](store::Callback<store::GcReport> done) {
    deps_.store.gc(std::move(done));
  };
  CO_TRY(const store::GcReport report, co_await store::store_call(ask));
  CO_TRY(const std::uint64_t strays, deps_.snapshots.sweep());
  json::object body{{"runs_removed", report.runs},
                    {"sessions_removed", report.sessions},
                    {"snapshot_files_removed", strays},
                    {"snapshot_bytes", deps_.snapshots.bytes()},
                    {"idempotent_entries_removed", report.idempotent_entries},
                    {"bytes_before", report.bytes_before},
                    {"bytes_after", report.bytes_after}};
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
