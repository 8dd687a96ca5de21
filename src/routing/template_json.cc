#include "routing/template_json.h"

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "model/template_text.h"
#include "packages/package_json.h"
#include "wire/json/json_values.h"

namespace glovebox::routing {
namespace {

namespace json = boost::json;

json::object template_profile_json(const Limits& limits) {
  json::object profile{{"timeout_ms", limits.wall.count()},
                       {"memory_mb", limits.memory_bytes >> 20},
                       {"disk_mb", limits.disk_bytes >> 20},
                       {"pids", limits.pids},
                       {"cpu_thousandths", limits.cpu_thousandths}};
  profile["cpu_ms"] =
      limits.cpu_time.count() == 0 ? json::value(nullptr) : json::value(limits.cpu_time.count());
  return profile;
}

}  // namespace

json::object template_json(const TemplateStatus& status) {
  const Template& made_of = status.description;
  json::array layers;
  for (const std::string& directory : made_of.layers) {
    layers.emplace_back(to_utf8(packages::layer_label(directory)));
  }
  json::object object{
      {"name", made_of.name},
      {"description", to_utf8(made_of.description)},
      {"built_in", made_of.built_in},
      {"runtime", runtime_name(made_of.runtime)},
      {"language", made_of.language},
      {"preload", wire::text_array(made_of.preload)},
      {"layers", std::move(layers)},
      {"profile", template_profile_json(made_of.limits)},
      {"pool", {{"min", made_of.pool_min}, {"max", made_of.pool_max}}},
      {"session_pool", {{"min", made_of.session_pool.min}, {"max", made_of.session_pool.max}}},
      {"state", state_name(status.state)},
      {"generation", status.generation},
      {"zygotes", status.zygotes},
      {"forks", status.forks},
      {"project", nullptr},
      {"from", nullptr},
      {"env", nullptr},
      {"dependencies", nullptr},
      {"snapshot", nullptr},
      {"image", nullptr},
      {"created_at", nullptr}};
  object["error"] = wire::text_or_null(status.error);
  return object;
}

json::object project_template_json(const templates::ProjectTemplates& templates,
                                   const store::TemplateRecord& made) {
  json::object object = template_json(templates.status_of(made));
  json::object env;
  for (const std::string& variable : made.definition.env) {
    const std::size_t equals = variable.find('=');
    env[variable.substr(0, equals)] = to_utf8(variable.substr(equals + 1));
  }
  object["project"] = made.project;
  object["from"] = made.definition.from;
  object["env"] = std::move(env);
  object["dependencies"] = packages::dependencies_json(made.dependencies);
  if (!made.snapshot.empty()) object["snapshot"] = made.snapshot;
  if (!made.image_name.empty()) object["image"] = to_utf8(made.image_name);
  object["session_pool"] = {{"min", made.session_pool.min}, {"max", made.session_pool.max}};
  object["created_at"] = utc_text(made.created_ms);
  return object;
}

}  // namespace glovebox::routing
