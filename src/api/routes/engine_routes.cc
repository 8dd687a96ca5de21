#include "api/routes/engine_routes.h"

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "model/engine_info.h"
#include "wire/runs/run_answer.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

// Null: no sandbox of it has been made yet, so it is not known.
json::value known(const std::optional<WallSet>& walls, bool (*can)(const WallSet&)) {
  return walls ? json::value(can(*walls)) : json::value(nullptr);
}

json::object features_json(const EngineInfo& info, const std::optional<WallSet>& walls) {
  return {{"sessions", info.sessions},
          {"warm", info.warm},
          {"mounts", info.mounts},
          {"network", info.network},
          {"packages", info.packages},
          {"snapshots", info.snapshots},
          {"terminal", info.terminal},
          {"pause", info.sessions ? known(walls, can_pause) : json::value(false)},
          {"sudo", info.sessions ? known(walls, can_sudo) : json::value(false)}};
}

// Walls of the last sandbox, or null where there was none.
json::value walls_json(EngineKind engine, const std::optional<WallSet>& walls) {
  if (!walls) return nullptr;
  json::object isolation = wire::isolation_json(engine, *walls);
  isolation.erase("engine");
  return isolation;
}

// The error of a sandbox that could not be made may name another project's things or the host's.
enum class ErrorText : bool { kHidden, kShown };

// Empty: it can be used.
std::string reason_against(const EngineInfo& info, const node::NodeFigures& figures,
                           const std::optional<Grade>& floor, ErrorText errors) {
  if (!info.not_for_servers.empty()) return std::string(info.not_for_servers);
  if (!figures.launcher_up) return "there is no launcher";
  const node::EngineFigures& made = figures.jail;
  if (!made.run_walls && !made.session_walls) {
    if (made.error.empty() || errors == ErrorText::kShown) return made.error;
    return "the last sandbox could not be made; an admin key is shown the error";
  }
  const WallSet& walls = made.run_walls ? *made.run_walls : *made.session_walls;
  const Grade grade = grade_of(info.kind, walls);
  if (!floor || grade >= *floor) return "";
  return "its grade on this host is " + std::string(grade_name(grade)) +
         ", and isolation.min_grade is " + std::string(grade_name(*floor));
}

json::object engine_json(const EngineInfo& info, const node::NodeFigures& figures,
                         const EngineRoutes::Dependencies& deps, ErrorText errors) {
  const std::string reason = reason_against(info, figures, deps.min_grade, errors);
  const bool is_jail = info.kind == EngineKind::kJail;
  const std::optional<WallSet> none;
  json::object engine{
      {"name", engine_name(info.kind)},
      {"description", info.description},
      {"default", info.kind == deps.usual},
      {"usable", reason.empty()},
      {"reason", nullptr},
      {"run", walls_json(info.kind, is_jail ? figures.jail.run_walls : none)},
      {"sandbox", walls_json(info.kind, is_jail ? figures.jail.session_walls : none)},
      {"features", features_json(info, is_jail ? figures.jail.session_walls : none)}};
  if (!reason.empty()) engine["reason"] = to_utf8(reason);
  return engine;
}

}  // namespace

std::span<const routing::RouteRow<EngineRoutes>> EngineRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<EngineRoutes> kRows[] = {
      {Method::kGet, "/v1/engines", routing::Access::kKey, &EngineRoutes::list_engines,
       "List engines, their grades and why one is not usable"},
  };
  return kRows;
}

Task<Response> EngineRoutes::list_engines(Request& request, ResponseWriter&) {
  const auto who = deps_.authenticator.principal_of(request);
  const ErrorText errors = who && who->is_admin() ? ErrorText::kShown : ErrorText::kHidden;
  const node::NodeFigures figures = deps_.node.figures();
  json::array engines;
  for (const EngineInfo& info : all_engines()) {
    engines.push_back(engine_json(info, figures, deps_, errors));
  }
  const json::object body{{"engines", std::move(engines)}};
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
