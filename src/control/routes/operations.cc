// For whoever runs the server: is it alive, is it ready, its figures, and tidying up.
#include <boost/json.hpp>
#include <utility>

#include "control/routes/handlers.h"
#include "control/session_keeper.h"
#include "control/store_call.h"
#include "control/template_book.h"
#include "wire/utf8.h"

namespace glovebox::control::routes {
namespace {

namespace json = boost::json;

json::array reasons_not_ready(const App& app) {
  json::array reasons;
  if (app.stopping) reasons.emplace_back("the server stops");
  if (!app.node.figures().launcher_up) reasons.emplace_back("there is no launcher");
  const store::Health store = app.store.health();
  if (!store.ok) reasons.emplace_back(wire::to_utf8(store.reason));
  return reasons;
}

}  // namespace

Task<Response> health(App& app, Request&, ResponseWriter&) {
  json::object body{{"status", "ok"}, {"version", app.settings.version}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> health_ready(App& app, Request&, ResponseWriter&) {
  json::array reasons = reasons_not_ready(app);
  const bool ready = reasons.empty();
  json::object body{{"status", ready ? "ready" : "not_ready"}, {"reasons", std::move(reasons)}};
  Response response = Response::json(json::serialize(body) + "\n", ready ? 200 : 503);
  if (!ready) response.headers.set("Retry-After", "1");
  co_return response;
}

Task<Response> metrics(App& app, Request&, ResponseWriter&) {
  const http::ServerFigures http = app.http_figures ? app.http_figures() : http::ServerFigures{};
  node::NodeFigures figures = app.node.figures();
  std::vector<TemplateStatus> templates = app.node.templates();
  if (app.templates != nullptr) {
    for (node::PoolFigures& pool : figures.pools) {
      pool.template_name = app.templates->label_of(pool.template_name);
    }
    for (const store::TemplateRecord& made : app.templates->list("*")) {
      templates.push_back(app.templates->status_of(made));
      templates.back().description.name = app.templates->label_of(made.definition.id);
    }
  }
  Response response =
      Response::text(app.metrics.text(figures, app.store.health(), http, templates,
                                      app.events.subscribers(), app.keeper->figures()));
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  co_return response;
}

Task<Response> collect_garbage(App& app, Request&, ResponseWriter&) {
  const Ask<store::GcReport> ask = [&](store::Callback<store::GcReport> done) {
    app.store.gc(std::move(done));
  };
  CO_TRY(const store::GcReport report, co_await store_call(ask));
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

}  // namespace glovebox::control::routes
