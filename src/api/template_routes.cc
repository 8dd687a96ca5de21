#include "api/template_routes.h"

#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "model/template_text.h"
#include "packages/package_json.h"
#include "packages/package_plan.h"
#include "routing/refusals.h"
#include "routing/sandbox_creation.h"
#include "templates/project_templates.h"
#include "templates/template_request.h"
#include "templates/template_watcher.h"
#include "wire/json/json_values.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

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
  json::array layers;
  for (const std::string& place : made_of.layers) {
    layers.emplace_back(to_utf8(packages::layer_label(place)));
  }
  json::object object{{"name", made_of.name},
                      {"description", to_utf8(made_of.description)},
                      {"built_in", made_of.built_in},
                      {"runtime", runtime_name(made_of.runtime)},
                      {"language", made_of.language},
                      {"preload", wire::text_array(made_of.preload)},
                      {"layers", std::move(layers)},
                      {"profile", profile_of(made_of.limits)},
                      {"pool", {{"min", made_of.pool_min}, {"max", made_of.pool_max}}},
                      {"state", state_name(status.state)},
                      {"generation", status.generation},
                      {"zygotes", status.zygotes},
                      {"forks", status.forks},
                      {"project", nullptr},
                      {"from", nullptr},
                      {"env", nullptr},
                      {"dependencies", nullptr},
                      {"snapshot", nullptr},
                      {"created_at", nullptr}};
  object["error"] =
      status.error.empty() ? json::value(nullptr) : json::value(to_utf8(status.error));
  return object;
}

json::object own_json(const templates::ProjectTemplates& book, const store::TemplateRecord& made) {
  json::object object = template_json(book.status_of(made));
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
  object["created_at"] = utc_text(made.created_ms);
  return object;
}

Response created(const TemplateRoutes::Dependencies& deps, const store::TemplateRecord& made) {
  Response response = Response::json(json::serialize(own_json(deps.templates, made)) + "\n", 201);
  response.headers.set("Location", "/v1/templates/" + made.name);
  return response;
}

// `wait`: how long the project has to, if it does.
Response refuse_template(const Error& error, std::chrono::seconds wait = {}) {
  if (error.code() == Errc::kConflict) {
    return Response::refuse(409, "template_exists", error.message());
  }
  if (error.code() == Errc::kResourceExhausted) {
    Response response = Response::refuse(429, "template_limit", error.message());
    if (wait.count() > 0) response.headers.set("Retry-After", std::to_string(wait.count()));
    return response;
  }
  return routing::refuse_run(error);
}

// Packages are installed before there is such a template: what does not work is never made.
struct SetOfTemplate {
  const TemplateRoutes::Dependencies& deps;
  std::shared_ptr<node::CancelFlag> cancel;
  bool failed = false;
  std::shared_ptr<void> hold{};  // until it is stored

  Task<> define(store::TemplateRecord& made) {
    packages::PackageSetRequest wish;
    wish.project = made.project;
    wish.key_id = made.key_id;
    wish.definition = made.definition;
    wish.dependencies = made.dependencies;
    auto prepared = co_await deps.preparation.prepare(std::move(wish), cancel);
    failed = !prepared;
    if (!prepared) co_return fail(std::move(prepared.error()));
    made.layer = prepared->layer_id;
    hold = std::move(prepared->hold);
    co_return Result<>();
  }
};

// It stands for a snapshot of the same project, and for as long as that is there.
Task<store::TemplateRecord> create_of_snapshot(const TemplateRoutes::Dependencies& deps, store::TemplateRecord wanted) {
  const std::string project = wanted.project;
  const std::string name = wanted.name;
  const std::string id = wanted.snapshot;
  CO_TRY(const store::SnapshotRecord snapshot, deps.snapshots.find(project, id));
  wanted.definition.from = snapshot.template_name;
  templates::ProjectTemplates::Define define = [](store::TemplateRecord&) -> Task<> { co_return Result<>(); };
  CO_TRY(store::TemplateRecord made,
         co_await deps.templates.create(std::move(wanted), std::move(define)));
  // Whoever removed it meanwhile did not know of this one.
  if (auto still = deps.snapshots.find(project, id); !still) {
    (void)co_await deps.templates.remove(project, name);
    co_return fail(std::move(still.error()));
  }
  co_return made;
}

Response no_such() {
  return Response::refuse(404, "template_not_found", "there is no such template");
}

}  // namespace

std::span<const routing::RouteRow<TemplateRoutes>> TemplateRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<TemplateRoutes> kRows[] = {
      {Method::kGet, "/v1/templates", routing::Access::kKey, &TemplateRoutes::list_templates, "What sandboxes can be made of"},
      {Method::kPost, "/v1/templates", routing::Access::kKey, &TemplateRoutes::create_template, "Make a template of your project's own", routing::kSandboxBody},
      {Method::kGet, "/v1/templates/{name}", routing::Access::kKey, &TemplateRoutes::get_template, "One template, and how it is doing"},
      {Method::kDelete, "/v1/templates/{name}", routing::Access::kKey, &TemplateRoutes::delete_template, "Remove a template of your project's own"},
  };
  return kRows;
}

Task<Response> TemplateRoutes::create_template(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  if (caller.project == "*") {
    co_return Response::refuse(400, "invalid_argument", "project: name one");
  }
  CO_TRY(store::TemplateRecord wanted, templates::parse_template_request(request.body));
  wanted.project = caller.project;
  wanted.key_id = caller.who.key.str();
  co_await deps_.watcher.wait_until_known();
  if (!wanted.snapshot.empty()) {
    auto made = co_await create_of_snapshot(deps_, std::move(wanted));
    if (!made) {
      const bool is_gone = made.error().code() == Errc::kNotFound;
      const auto wait = deps_.templates.wait_of(caller.project, std::chrono::steady_clock::now());
      co_return is_gone ? Response::from_error(made.error()) : refuse_template(made.error(), wait);
    }
    co_return created(deps_, *made);
  }
  const TemplateStatus* base = deps_.node.find_template(wanted.definition.from);
  const Template* described = base != nullptr ? &base->description : nullptr;
  if (auto checked = templates::check_memory_of(caller.who.limits, wanted.definition, described); !checked) {
    co_return Response::refuse(403, "key_limit", checked.error().message());
  }
  SetOfTemplate set{deps_, std::make_shared<node::CancelFlag>()};
  templates::ProjectTemplates::Define define;
  if (!wanted.dependencies.empty()) {
    auto fits = packages::choose_template_with(deps_.node, nullptr, caller.project, wanted.definition.from,
                                     wanted.dependencies);
    if (!fits) co_return routing::refuse_run(fits.error());
    request.on_disconnect([cancel = set.cancel] { cancel->cancel(); });
    define = [&set](store::TemplateRecord& record) { return set.define(record); };
  }
  Result<store::TemplateRecord> made =
      co_await deps_.templates.create(std::move(wanted), std::move(define));
  if (!made && set.failed) co_return routing::refuse_packages(made.error());
  if (!made) {
    const auto now = std::chrono::steady_clock::now();
    co_return refuse_template(made.error(), deps_.templates.wait_of(caller.project, now));
  }
  co_return created(deps_, *made);
}

Task<Response> TemplateRoutes::delete_template(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  std::string name(request.param("name"));
  if (deps_.templates.find(caller.project, name) == nullptr) {
    // Everybody may know of the administrator's.
    if (deps_.node.find_template(name) == nullptr) co_return no_such();
    co_return Response::refuse(403, "policy", "this template is the administrator's");
  }
  std::string project = caller.project;
  Result<> removed = co_await deps_.templates.remove(std::move(project), std::move(name));
  if (!removed) co_return refuse_template(removed.error());
  co_return Response::empty(204);
}

Task<Response> TemplateRoutes::list_templates(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  json::array list;
  for (const TemplateStatus& status : deps_.node.templates()) {
    const std::string& name = status.description.name;
    // One of its own stands before the administrator's.
    if (deps_.templates.find(caller.project, name) != nullptr) continue;
    list.push_back(template_json(status));
  }
  for (const store::TemplateRecord& made : deps_.templates.list(caller.project)) {
    list.push_back(own_json(deps_.templates, made));
  }
  json::object body{{"templates", std::move(list)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> TemplateRoutes::get_template(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  const std::string name(request.param("name"));
  if (const store::TemplateRecord* made = deps_.templates.find(caller.project, name)) {
    co_return Response::json(json::serialize(own_json(deps_.templates, *made)) + "\n");
  }
  const TemplateStatus* status = deps_.node.find_template(name);
  if (status == nullptr) co_return no_such();
  co_return Response::json(json::serialize(template_json(*status)) + "\n");
}

}  // namespace glovebox::api
