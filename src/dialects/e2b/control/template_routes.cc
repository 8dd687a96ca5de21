// E2B's templates, as far as they are asked for: which there are, and whether one is. They are made
// by the server's administrator or by POST /v1/templates (docs/templates.md), not over this
// protocol.
#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "dialects/e2b/handlers.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/control/sandbox_lookup.h"
#include "dialects/e2b/control/template_names.h"
#include "routing/sandbox_creation.h"
#include "store/sha256.h"
#include "templates/project_templates.h"
#include "templates/template_watcher.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

// Clients want a build and its UUID: there is one build of a template, the one that is there.
std::string build_of(const std::string& name) {
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
          {"buildID", build_of(made_of.name)},
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

Task<Response> list_templates(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  co_await templates::wait_for_templates(app);
  // When a template was made is not known; it is there since the server is.
  static const std::string since = utc_text(wall_clock_ms());
  json::array list;
  for (const TemplateStatus& status : app.node.templates()) {
    if (status.state != RuntimeState::kRemoved) list.push_back(template_json(status, since));
  }
  if (app.templates != nullptr) {
    for (const store::TemplateRecord& own : app.templates->list(caller.project)) {
      list.push_back(template_json(app.templates->status_of(own), since));
    }
  }
  co_return Response::json(json::serialize(list));
}

Task<Response> get_template_alias(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  co_await templates::wait_for_templates(app);
  CO_TRY(const Source source, find_source(app, caller.project, request.param("alias")));
  const bool is_snapshot = !source.snapshot.empty();
  const bool is_own = app.templates != nullptr &&
                      app.templates->find(caller.project, source.template_name) != nullptr;
  const json::object body{{"templateID", is_snapshot ? source.snapshot : source.template_name},
                          {"public", !is_snapshot && !is_own}};
  co_return Response::json(json::serialize(body));
}

Task<Response> not_served(routing::App&, Request& request, ResponseWriter&) {
  const std::string what(http::method_name(request.method));
  co_return refusal(501, what + " " + request.route +
                             ": this is a feature of the hosted service; see docs/api/e2b.md for "
                             "what a Glovebox server has instead");
}

}  // namespace glovebox::e2b
