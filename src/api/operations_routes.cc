// For whoever runs the server: is it alive, is it ready, its figures, and tidying up.
#include <boost/json.hpp>
#include <map>
#include <utility>
#include <vector>

#include "api/handlers.h"
#include "base/utf8.h"
#include "model/template_rules.h"
#include "packages/package_service.h"
#include "sessions/session_keeper.h"
#include "store/store_call.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;

json::array reasons_not_ready(const routing::App& app) {
  json::array reasons;
  if (app.stopping) reasons.emplace_back("the server stops");
  if (!app.node.figures().launcher_up) {
    reasons.emplace_back("there is no launcher");
  } else if (!app.session_service.adopted()) {
    reasons.emplace_back("the launcher has not told of its sandboxes yet");
  }
  const store::Health store = app.store.health();
  if (!store.ok) reasons.emplace_back(to_utf8(store.reason));
  return reasons;
}

// Those of templates that projects made, as one for each engine: anybody may look at the figures,
// and nobody but the project may know of a single one.
std::vector<node::PoolFigures> with_own_together(std::vector<node::PoolFigures> pools) {
  std::vector<node::PoolFigures> shown;
  std::map<EngineKind, node::PoolFigures> own;
  for (node::PoolFigures& pool : pools) {
    if (!is_dynamic_template_id(pool.template_name)) {
      shown.push_back(std::move(pool));
      continue;
    }
    node::PoolFigures& sum = own[pool.engine];
    sum.template_name = "own";
    sum.engine = pool.engine;
    sum.idle += pool.idle;
    sum.making += pool.making;
    sum.target += pool.target;
    sum.hits += pool.hits;
    sum.misses += pool.misses;
  }
  for (auto& [engine, sum] : own) shown.push_back(std::move(sum));
  return shown;
}

}  // namespace

Task<Response> health(routing::App& app, Request&, ResponseWriter&) {
  json::object body{{"status", "ok"}, {"version", app.settings.version}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> health_ready(routing::App& app, Request&, ResponseWriter&) {
  json::array reasons = reasons_not_ready(app);
  const bool ready = reasons.empty();
  json::object body{{"status", ready ? "ready" : "not_ready"}, {"reasons", std::move(reasons)}};
  // Without one, only sandboxes that want a network have to wait.
  body["gateway"] = app.node.figures().network.gateway_up ? "up" : "down";
  Response response = Response::json(json::serialize(body) + "\n", ready ? 200 : 503);
  if (!ready) response.headers.set("Retry-After", "1");
  co_return response;
}

Task<Response> metrics(routing::App& app, Request&, ResponseWriter&) {
  const http::ServerFigures http = app.http_figures ? app.http_figures() : http::ServerFigures{};
  node::NodeFigures figures = app.node.figures();
  figures.pools = with_own_together(std::move(figures.pools));
  const packages::PackageFigures packages =
      app.dependencies != nullptr ? app.dependencies->figures() : packages::PackageFigures{};
  Response response =
      Response::text(app.metrics.text(figures, app.store.health(), http, app.node.templates(),
                                      app.events.subscribers(), app.keeper->figures(), packages));
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  co_return response;
}

Task<Response> collect_garbage(routing::App& app, Request&, ResponseWriter&) {
  const store::Ask<store::GcReport> ask = [&](store::Callback<store::GcReport> done) {
    app.store.gc(std::move(done));
  };
  CO_TRY(const store::GcReport report, co_await store::store_call(ask));
  CO_TRY(const std::uint64_t strays, app.keeper->shelf().sweep());
  json::object body{{"runs_removed", report.runs},
                    {"sessions_removed", report.sessions},
                    {"snapshot_files_removed", strays},
                    {"snapshot_bytes", app.keeper->shelf().bytes()},
                    {"idempotent_entries_removed", report.idempotent_entries},
                    {"bytes_before", report.bytes_before},
                    {"bytes_after", report.bytes_after}};
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
