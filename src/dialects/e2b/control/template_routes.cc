#include "dialects/e2b/control/template_routes.h"

#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/error_form.h"
#include "store/sha256.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;

// Clients expect the UUID of a build: a template has exactly one, named after it.
std::string build_id_of(const std::string& name) {
  const std::string hash = store::sha256_hex("template:" + name);
  return hash.substr(0, 8) + "-" + hash.substr(8, 4) + "-4" + hash.substr(13, 3) + "-8" +
         hash.substr(17, 3) + "-" + hash.substr(20, 12);
}

std::string_view build_status(RuntimeState state) {
  switch (state) {
    case RuntimeState::kFailed:
      return "error";
    case RuntimeState::kStarting:
      return "building";
    default:
      return "ready";
  }
}

json::object template_json(const TemplateStatus& status, const std::string& since) {
  const Template& made_of = status.description;
  const std::string alias = alias_of(made_of.name);
  json::array names{json::value(made_of.name)};
  if (alias != made_of.name) names.emplace_back(alias);
  return {{"templateID", made_of.name},
          {"buildID", build_id_of(made_of.name)},
          {"cpuCount", cpu_count(made_of.limits)},
          {"memoryMB", made_of.limits.memory_bytes >> 20},
          {"diskSizeMB", made_of.limits.disk_bytes >> 20},
          {"public", made_of.built_in},
          {"aliases", names},
          {"names", names},
          {"description", to_utf8(made_of.description)},
          {"createdAt", since},
          {"updatedAt", since},
          {"createdBy", nullptr},
          {"lastSpawnedAt", nullptr},
          {"spawnCount", status.forks},
          {"buildCount", status.generation},
          {"envdVersion", kEnvdVersion},
          {"buildStatus", build_status(status.state)}};
}

}  // namespace

std::span<const routing::RouteRow<TemplateRoutes>> TemplateRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<TemplateRoutes> kRows[] = {
      {Method::kGet, "/templates", Access::kKey, &TemplateRoutes::list,
       "List the templates for sandboxes (E2B)"},
      {Method::kGet, "/v2/templates", Access::kKey, &TemplateRoutes::list,
       "List the templates for sandboxes (E2B, newer clients)"},
      {Method::kGet, "/templates/aliases/{alias}", Access::kKey, &TemplateRoutes::find_alias,
       "Check whether a template exists (E2B)"},
      {Method::kDelete, "/templates/{id}", Access::kKey, &TemplateRoutes::remove,
       "Remove a snapshot or a template of your project (E2B)"},
  };
  return kRows;
}

Task<Response> TemplateRoutes::list(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  co_await deps_.template_watcher.wait_until_known();
  // When a template was made is not recorded: it counts from the server's start.
  static const std::string since = utc_text(wall_clock_ms());
  json::array all;
  for (const TemplateStatus& status : deps_.node.templates()) {
    if (status.state != RuntimeState::kRemoved) all.push_back(template_json(status, since));
  }
  for (const store::TemplateRecord& own : deps_.templates.list(caller.project)) {
    all.push_back(template_json(deps_.templates.status_of(own), since));
  }
  co_return Response::json(json::serialize(all));
}

Task<Response> TemplateRoutes::find_alias(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  co_await deps_.template_watcher.wait_until_known();
  CO_TRY(const TemplateSource source, deps_.names.find(caller.project, request.param("alias")));
  const bool is_snapshot = !source.snapshot.empty();
  const bool is_own = deps_.templates.find(caller.project, source.template_name) != nullptr;
  const json::object body{{"templateID", is_snapshot ? source.snapshot : source.template_name},
                          {"public", !is_snapshot && !is_own}};
  co_return Response::json(json::serialize(body));
}

Task<Response> TemplateRoutes::remove(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const TemplateSource source, deps_.names.find(caller.project, request.param("id")));
  const bool is_own = source.snapshot.empty() &&
                      deps_.templates.find(caller.project, source.template_name) != nullptr;
  if (is_own) {
    CO_TRY_OK(co_await deps_.templates.remove(caller.project, source.template_name));
    co_return Response::empty(204);
  }
  if (source.snapshot.empty()) {
    co_return refusal(403,
                      "this is a template of the server; only its administrator can remove it");
  }
  CO_TRY_OK(deps_.templates.check_snapshot_unused(caller.project, source.snapshot));
  CO_TRY_OK(co_await deps_.snapshots.remove(caller.project, source.snapshot));
  co_return Response::empty(204);
}

}  // namespace glovebox::e2b
