#include "control/routes.h"

#include <boost/json.hpp>
#include <cstdio>

#include "base/log.h"
#include "control/routes/handlers.h"

namespace glovebox::control {
namespace {

using http::Method;
namespace json = boost::json;

constexpr std::size_t kRunBody = http::kRunBodyLimit;

constexpr RouteRow kRoutes[] = {
    {Method::kPost, "/v1/run", Access::kKey, routes::post_run,
     "Run code or a command in a fresh sandbox", kRunBody},
    {Method::kGet, "/v1/runs", Access::kKey, routes::list_runs, "Runs of your project"},
    {Method::kGet, "/v1/runs/{id}", Access::kKey, routes::get_run, "One run, with its output"},
    {Method::kGet, "/v1/templates", Access::kKey, routes::list_templates,
     "What sandboxes can be made of"},
    {Method::kGet, "/v1/templates/{name}", Access::kKey, routes::get_template,
     "One template, and how it is doing"},
    {Method::kGet, "/v1/events", Access::kKey, routes::stream_events,
     "What happens in your project, live"},
    {Method::kPost, "/v1/keys", Access::kAdmin, routes::create_key, "Make a key"},
    {Method::kGet, "/v1/keys", Access::kAdmin, routes::list_keys,
     "All keys, without their secrets"},
    {Method::kDelete, "/v1/keys/{id}", Access::kAdmin, routes::revoke_key, "Revoke a key"},
    {Method::kPost, "/v1/gc", Access::kAdmin, routes::collect_garbage,
     "Remove what is past its retention"},
    {Method::kGet, "/metrics", Access::kOperator, routes::metrics, "Figures for Prometheus"},
    {Method::kGet, "/health", Access::kOpen, routes::health, "Is the server alive?"},
    {Method::kGet, "/health/ready", Access::kOpen, routes::health_ready,
     "Can the server run something now?"},
    {Method::kGet, "/openapi.yaml", Access::kOperator, routes::openapi, "This contract"},
    {Method::kGet, "/docs", Access::kOperator, routes::docs, "This contract, for people"},
    {Method::kGet, "/", Access::kOpen, routes::front_page, "Where to look"},
};

const RouteRow* find_row(const http::Request& request) {
  for (const RouteRow& row : kRoutes) {
    // HEAD is answered by GET's handler.
    const bool same = row.method == request.method ||
                      (request.method == Method::kHead && row.method == Method::kGet);
    if (same && row.pattern == request.route) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const RouteRow> all_routes() { return kRoutes; }

std::string_view access_name(Access access) {
  switch (access) {
    case Access::kOpen:
      return "open";
    case Access::kOperator:
      return "operator";
    case Access::kKey:
      return "key";
    case Access::kAdmin:
      return "admin";
  }
  return "admin";
}

http::Router make_router(App& app, std::size_t max_run_body) {
  http::Router router;
  for (const RouteRow& row : kRoutes) {
    http::Route route;
    route.method = row.method;
    route.pattern = row.pattern;
    route.handler = [&app, handler = row.handler](http::Request& request,
                                                  http::ResponseWriter& writer) {
      return handler(app, request, writer);
    };
    route.max_body = row.max_body == kRunBody ? max_run_body : row.max_body;
    router.add(std::move(route));
  }
  return router;
}

std::optional<http::Response> admit(App& app, const http::Request& request) {
  const RouteRow* row = find_row(request);
  // What is not in the table is nobody's: fail closed.
  return refuse(app, request, row != nullptr ? row->access : Access::kAdmin);
}

void note_exchange(App& app, const http::Exchange& exchange) {
  app.metrics.count_answer(exchange.status);
  if (!app.settings.log_requests) return;
  const http::Request& request = exchange.request;
  const auto who = principal_of(app, request);
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

std::string routes_json() {
  json::array rows;
  for (const RouteRow& row : kRoutes) {
    rows.push_back({{"method", http::method_name(row.method)},
                    {"path", row.pattern},
                    {"access", access_name(row.access)},
                    {"summary", row.summary}});
  }
  return json::serialize(rows) + "\n";
}

}  // namespace glovebox::control
