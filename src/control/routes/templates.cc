// /v1/templates and /v1/templates/{name}: what sandboxes can be made of, and how each is doing; the
// administrator's for everybody, and a project's own, which it makes and removes here.
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "control/auth.h"
#include "control/clock.h"
#include "control/dependency_words.h"
#include "control/json_fields.h"
#include "control/package_plan.h"
#include "control/routes/handlers.h"
#include "control/run_refusal.h"
#include "control/session_creation.h"
#include "control/session_keeper.h"
#include "control/set_flow.h"
#include "control/template_book.h"
#include "control/template_request.h"
#include "control/template_watch.h"
#include "control/words.h"
#include "wire/utf8.h"

namespace glovebox::control::routes {
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
    layers.emplace_back(wire::to_utf8(layer_word(place)));
  }
  json::object object{{"name", made_of.name},
                      {"description", wire::to_utf8(made_of.description)},
                      {"built_in", made_of.built_in},
                      {"runtime", runtime_name(made_of.runtime)},
                      {"language", made_of.language},
                      {"preload", text_array(made_of.preload)},
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
      status.error.empty() ? json::value(nullptr) : json::value(wire::to_utf8(status.error));
  return object;
}

json::object own_json(const TemplateBook& book, const store::TemplateRecord& made) {
  json::object object = template_json(book.status_of(made));
  json::object env;
  for (const std::string& variable : made.definition.env) {
    const std::size_t equals = variable.find('=');
    env[variable.substr(0, equals)] = wire::to_utf8(variable.substr(equals + 1));
  }
  object["project"] = made.project;
  object["from"] = made.definition.from;
  object["env"] = std::move(env);
  object["dependencies"] = dependencies_view(made.dependencies);
  if (!made.snapshot.empty()) object["snapshot"] = made.snapshot;
  object["created_at"] = utc_text(made.created_ms);
  return object;
}

Response created(const App& app, const store::TemplateRecord& made) {
  Response response = Response::json(json::serialize(own_json(*app.templates, made)) + "\n", 201);
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
  return refuse_run(error);
}

// Packages are installed before there is such a template: what does not work is never made.
struct SetOfTemplate {
  App& app;
  std::shared_ptr<node::CancelFlag> cancel;
  bool failed = false;
  std::shared_ptr<void> hold{};  // until it is stored

  Task<> define(store::TemplateRecord& made) {
    SetWish wish;
    wish.project = made.project;
    wish.key_id = made.key_id;
    wish.definition = made.definition;
    wish.dependencies = made.dependencies;
    auto prepared = co_await prepare_set(app, std::move(wish), cancel);
    failed = !prepared;
    if (!prepared) co_return fail(std::move(prepared.error()));
    made.layer = prepared->layer_id;
    hold = std::move(prepared->hold);
    co_return Result<>();
  }
};

// It stands for a snapshot of the same project, and for as long as that is there.
Task<store::TemplateRecord> create_of_snapshot(App& app, store::TemplateRecord wanted) {
  const std::string project = wanted.project;
  const std::string name = wanted.name;
  const std::string id = wanted.snapshot;
  CO_TRY(const store::SnapshotRecord snapshot, app.keeper->shelf().find(project, id));
  wanted.definition.from = snapshot.template_name;
  TemplateBook::Define define = [](store::TemplateRecord&) -> Task<> { co_return Result<>(); };
  CO_TRY(store::TemplateRecord made,
         co_await app.templates->create(std::move(wanted), std::move(define)));
  // Whoever removed it meanwhile did not know of this one.
  if (auto still = app.keeper->shelf().find(project, id); !still) {
    (void)co_await app.templates->remove(project, name);
    co_return fail(std::move(still.error()));
  }
  co_return made;
}

Response no_such() {
  return Response::refuse(404, "template_not_found", "there is no such template");
}

}  // namespace

Task<Response> create_template(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  if (caller.project == "*") {
    co_return Response::refuse(400, "invalid_argument", "project: name one");
  }
  CO_TRY(store::TemplateRecord wanted, parse_template_request(request.body));
  wanted.project = caller.project;
  wanted.key_id = caller.who.key.str();
  co_await wait_for_templates(app);
  if (!wanted.snapshot.empty()) {
    auto made = co_await create_of_snapshot(app, std::move(wanted));
    if (!made) {
      const bool is_gone = made.error().code() == Errc::kNotFound;
      const auto wait = app.templates->wait_of(caller.project, std::chrono::steady_clock::now());
      co_return is_gone ? Response::from_error(made.error()) : refuse_template(made.error(), wait);
    }
    co_return created(app, *made);
  }
  const TemplateStatus* base = app.node.find_template(wanted.definition.from);
  const Template* described = base != nullptr ? &base->description : nullptr;
  if (auto checked = check_memory_of(caller.who.limits, wanted.definition, described); !checked) {
    co_return Response::refuse(403, "key_limit", checked.error().message());
  }
  SetOfTemplate set{app, std::make_shared<node::CancelFlag>()};
  TemplateBook::Define define;
  if (!wanted.dependencies.empty()) {
    auto fits = choose_template_with(app.node, nullptr, caller.project, wanted.definition.from,
                                     wanted.dependencies);
    if (!fits) co_return refuse_run(fits.error());
    request.on_disconnect([cancel = set.cancel] { cancel->cancel(); });
    define = [&set](store::TemplateRecord& record) { return set.define(record); };
  }
  Result<store::TemplateRecord> made =
      co_await app.templates->create(std::move(wanted), std::move(define));
  if (!made && set.failed) co_return refuse_set(made.error());
  if (!made) {
    const auto now = std::chrono::steady_clock::now();
    co_return refuse_template(made.error(), app.templates->wait_of(caller.project, now));
  }
  co_return created(app, *made);
}

Task<Response> delete_template(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  std::string name(request.param("name"));
  if (app.templates->find(caller.project, name) == nullptr) {
    // Everybody may know of the administrator's.
    if (app.node.find_template(name) == nullptr) co_return no_such();
    co_return Response::refuse(403, "policy", "this template is the administrator's");
  }
  std::string project = caller.project;
  Result<> removed = co_await app.templates->remove(std::move(project), std::move(name));
  if (!removed) co_return refuse_template(removed.error());
  co_return Response::empty(204);
}

Task<Response> list_templates(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  json::array list;
  for (const TemplateStatus& status : app.node.templates()) {
    const std::string& name = status.description.name;
    // One of its own stands before the administrator's.
    if (app.templates->find(caller.project, name) != nullptr) continue;
    list.push_back(template_json(status));
  }
  for (const store::TemplateRecord& made : app.templates->list(caller.project)) {
    list.push_back(own_json(*app.templates, made));
  }
  json::object body{{"templates", std::move(list)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> get_template(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  const std::string name(request.param("name"));
  if (const store::TemplateRecord* made = app.templates->find(caller.project, name)) {
    co_return Response::json(json::serialize(own_json(*app.templates, *made)) + "\n");
  }
  const TemplateStatus* status = app.node.find_template(name);
  if (status == nullptr) co_return no_such();
  co_return Response::json(json::serialize(template_json(*status)) + "\n");
}

}  // namespace glovebox::control::routes
