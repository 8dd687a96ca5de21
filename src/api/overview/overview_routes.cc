#include "api/overview/overview_routes.h"

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "api/overview/overview_json.h"
#include "base/wall_clock.h"
#include "wire/runs/run_answer.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

constexpr std::size_t kShownEvents = 50;

// What the host's sandboxes use is every project's doing, so a project sees only what its own may
// use at most.
json::object memory_json(const std::string& project, const SandboxFigures& sandboxes,
                         const node::NodeFigures& figures) {
  if (project != runs::Activity::kAll) {
    return {{"used_bytes", sandboxes.memory_bytes}, {"limit_bytes", nullptr}};
  }
  json::object memory{{"used_bytes", figures.host.memory_bytes}, {"limit_bytes", nullptr}};
  if (figures.host.memory_bytes == 0) memory["used_bytes"] = figures.memory_committed_bytes;
  if (figures.host.memory_limit_bytes != 0) memory["limit_bytes"] = figures.host.memory_limit_bytes;
  return memory;
}

json::object cards_json(const std::string& project, const SandboxFigures& sandboxes,
                        const node::NodeFigures& figures, const runs::Activity& activity) {
  const runs::Activity::Rates rates = activity.rates_of(project);
  return {
      {"sandboxes",
       {{"running", sandboxes.running},
        {"paused", sandboxes.paused},
        {"starting", sandboxes.starting}}},
      {"runs_per_minute", rates.runs_per_minute},
      {"start_ms", {{"p50", milliseconds_json(rates.p50)}, {"p99", milliseconds_json(rates.p99)}}},
      {"warm_ready", shared_warm_ready(figures)},
      {"memory", memory_json(project, sandboxes, figures)},
      {"refusals_per_minute", rates.refusals_per_minute}};
}

// Null: no sandbox has been made yet, so it is not known.
json::value grade_json(const node::EngineFigures& made) {
  const auto& walls = made.run_walls ? made.run_walls : made.session_walls;
  if (!walls) return nullptr;
  return wire::isolation_json(EngineKind::kJail, *walls);
}

}  // namespace

std::span<const routing::RouteRow<OverviewRoutes>> OverviewRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<OverviewRoutes> kRows[] = {
      {Method::kGet, "/v1/overview", routing::Access::kKey, &OverviewRoutes::overview,
       "Get figures of the last hour, recent events and the grade"},
  };
  return kRows;
}

Task<Response> OverviewRoutes::overview(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  const node::NodeFigures figures = deps_.node.figures();
  const auto all = sandbox_figures(deps_.registry);
  const auto own = all.find(caller.project);
  const SandboxFigures sandboxes = own == all.end() ? SandboxFigures{} : own->second;
  json::array samples;
  if (const auto* known = deps_.activity.samples_of(caller.project)) {
    for (const runs::ActivitySample& sample : *known) samples.push_back(sample_json(sample));
  }
  const json::object body{{"at", utc_text(wall_clock_ms())},
                          {"project", caller.project},
                          {"cards", cards_json(caller.project, sandboxes, figures, deps_.activity)},
                          {"samples", std::move(samples)},
                          {"grade", grade_json(figures.jail)}};
  std::string text = json::serialize(body);
  text.back() = ',';
  text += "\"events\":[";
  const std::string project = caller.project == "*" ? std::string() : caller.project;
  const char* separator = "";
  for (const events::Event& event : deps_.events.recent(project, kShownEvents)) {
    text += separator + event_json(event);
    separator = ",";
  }
  co_return Response::json(text + "]}\n");
}

}  // namespace glovebox::api
