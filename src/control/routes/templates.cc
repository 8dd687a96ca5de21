// GET /v1/templates and /v1/templates/{name}: what sandboxes can be made of, and how each is doing.
#include <boost/json.hpp>

#include "control/routes/handlers.h"
#include "control/words.h"
#include "wire/utf8.h"

namespace glovebox::control::routes {
namespace {

namespace json = boost::json;

json::array texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& text : list) out.emplace_back(wire::to_utf8(text));
  return out;
}

json::object profile_of(const Limits& limits) {
  json::object profile{{"timeout_ms", limits.wall.count()},
                       {"memory_mb", limits.memory_bytes >> 20},
                       {"disk_mb", limits.disk_bytes >> 20},
                       {"pids", limits.pids},
                       {"cpu_thousandths", limits.cpu_thousandths}};
  profile["cpu_ms"] =
      limits.cpu_time.count() == 0 ? json::value(nullptr) : json::value(limits.cpu_time.count());
  return profile;
}

json::object template_json(const TemplateStatus& status) {
  const Template& made_of = status.description;
  json::object object{{"name", made_of.name},
                      {"description", wire::to_utf8(made_of.description)},
                      {"built_in", made_of.built_in},
                      {"runtime", runtime_name(made_of.runtime)},
                      {"language", made_of.language},
                      {"preload", texts(made_of.preload)},
                      {"layers", texts(made_of.layers)},
                      {"profile", profile_of(made_of.limits)},
                      {"pool", {{"min", made_of.pool_min}, {"max", made_of.pool_max}}},
                      {"state", state_name(status.state)},
                      {"generation", status.generation},
                      {"zygotes", status.zygotes},
                      {"forks", status.forks}};
  object["error"] =
      status.error.empty() ? json::value(nullptr) : json::value(wire::to_utf8(status.error));
  return object;
}

}  // namespace

Task<Response> list_templates(App& app, Request&, ResponseWriter&) {
  json::array list;
  for (const TemplateStatus& status : app.node.templates()) list.push_back(template_json(status));
  json::object body{{"templates", std::move(list)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> get_template(App& app, Request& request, ResponseWriter&) {
  const TemplateStatus* status = app.node.find_template(request.param("name"));
  if (status == nullptr) {
    co_return Response::refuse(404, "template_not_found", "there is no such template");
  }
  co_return Response::json(json::serialize(template_json(*status)) + "\n");
}

}  // namespace glovebox::control::routes
