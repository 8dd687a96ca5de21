// /v1/layers: the sets of packages that were installed, each kept as one layer: listed, shown,
// built ahead, compared with what they were, removed.
#include <boost/json.hpp>
#include <utility>

#include "control/auth.h"
#include "control/dependency_words.h"
#include "control/layer_request.h"
#include "control/package_plan.h"
#include "control/routes/handlers.h"
#include "control/run_refusal.h"
#include "control/session_creation.h"
#include "control/set_flow.h"
#include "control/template_watch.h"
#include "wire/utf8.h"

namespace glovebox::control::routes {
namespace {

namespace json = boost::json;

Error no_book() { return Error(Errc::kUnsupported, "this server installs no packages"); }

// An admin key sees all of them, unless it names a project; anybody else those of its own.
Result<std::string> layer_project(App& app, const Request& request) {
  TRY(const Caller caller, caller_of(app, request));
  const bool says_nothing = request.query.find("project") == nullptr;
  return caller.who.is_admin() && says_nothing ? std::string("*") : caller.project;
}

Response refuse_layer(const Error& error) {
  if (error.code() == Errc::kNotFound) {
    return Response::refuse(404, "layer_not_found", error.message());
  }
  if (error.code() == Errc::kConflict) {
    return Response::refuse(409, "layer_in_use", error.message());
  }
  if (error.code() == Errc::kUnavailable || error.code() == Errc::kTimeout ||
      error.code() == Errc::kUnsupported) {
    return refuse_run(error);
  }
  return Response::from_error(error);
}

std::string requested_layer(const Request& request) { return std::string(request.param("id")); }

// The whole id of one that was named by its beginning, by whoever may do anything with it.
Task<std::string> whole_id(App& app, std::string said) {
  if (app.dependencies == nullptr) co_return fail(no_book());
  std::string everybody = "*";
  CO_TRY(LayerView layer, co_await app.dependencies->find(std::move(everybody), std::move(said)));
  co_return std::move(layer.record.id);
}

json::object made_json(const LayerView& layer, const SetMade& made, const std::string& project) {
  json::object body = layer_json(layer, project);
  body["built"] = made.built;
  body["waited_ms"] = made.waited.count();
  if (!made.cold_because.empty()) body["cold_because"] = wire::to_utf8(made.cold_because);
  return body;
}

Task<Response> stream_build(App& app, Request& request, ResponseWriter& writer, SetWish wish,
                            std::shared_ptr<node::CancelFlag> cancel, AnswerForm form) {
  StreamingSink sink(writer, form);
  const std::string project = wish.project;
  Result<LayerView> layer = fail(Errc::kInternal, "not built");
  auto made = co_await prepare_set_aloud(app, std::move(wish), cancel, sink);
  if (made) layer = co_await app.dependencies->find(project, made->layer_id);
  if (!made || !layer) {
    const Error& error = !made ? made.error() : layer.error();
    Response refusal = !made ? refuse_set(error) : refuse_layer(error);
    app.metrics.count_refusal(refusal.problem ? refusal.problem->code : "internal");
    if (!sink.begun()) co_return refusal;
    const json::object said{{"code", refusal.problem ? refusal.problem->code : "internal"},
                            {"message", wire::to_utf8(error.message())},
                            {"status", refusal.status},
                            {"request_id", request.id}};
    std::string event = "error";
    std::string data = json::serialize(said);
    co_await sink.finish(std::move(event), std::move(data));
    co_return Response::streamed();
  }
  std::string event = "layer";
  std::string data = json::serialize(made_json(*layer, *made, project));
  co_await sink.finish(std::move(event), std::move(data));
  co_return Response::streamed();
}

}  // namespace

Task<Response> list_layers(App& app, Request& request, ResponseWriter&) {
  if (app.dependencies == nullptr) co_return refuse_layer(no_book());
  CO_TRY(const std::string project, layer_project(app, request));
  auto layers = co_await app.dependencies->list(project);
  if (!layers) co_return refuse_layer(layers.error());
  json::array list;
  for (const LayerView& layer : *layers) list.push_back(layer_json(layer, project));
  const json::object body{{"layers", std::move(list)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> get_layer(App& app, Request& request, ResponseWriter&) {
  if (app.dependencies == nullptr) co_return refuse_layer(no_book());
  CO_TRY(const std::string project, layer_project(app, request));
  auto layer = co_await app.dependencies->find(project, requested_layer(request));
  if (!layer) co_return refuse_layer(layer.error());
  co_return Response::json(json::serialize(layer_json(*layer, project)) + "\n");
}

Task<Response> build_layer(App& app, Request& request, ResponseWriter& writer) {
  CO_TRY(const Caller caller, caller_of_one_project(app, request));
  CO_TRY(const LayerRequest wanted, parse_layer_request(request.body));
  co_await wait_for_templates(app);
  auto chosen = choose_template_with(app.node, app.templates, caller.project, wanted.template_name,
                                     wanted.dependencies);
  if (!chosen) co_return refuse_run(chosen.error());
  auto admission = app.usage.admit(caller.who, 0, std::chrono::steady_clock::now());
  if (!admission) {
    app.metrics.count_refusal("key_limit");
    co_return refuse_run(admission.error());
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  SetWish wish = std::move(*chosen->set);
  wish.key_id = caller.who.key.str();
  wish.resolve_now = wanted.refresh;
  const AnswerForm form = answer_form(request);
  if (form != AnswerForm::kJson) {
    co_return co_await stream_build(app, request, writer, std::move(wish), cancel, form);
  }
  auto made = co_await prepare_set(app, std::move(wish), cancel);
  if (!made) {
    Response refusal = refuse_set(made.error());
    app.metrics.count_refusal(refusal.problem ? refusal.problem->code : "internal");
    co_return refusal;
  }
  auto layer = co_await app.dependencies->find(caller.project, made->layer_id);
  if (!layer) co_return refuse_layer(layer.error());
  co_return Response::json(json::serialize(made_json(*layer, *made, caller.project)) + "\n");
}

Task<Response> remove_layer(App& app, Request& request, ResponseWriter&) {
  auto id = co_await whole_id(app, requested_layer(request));
  if (!id) co_return refuse_layer(id.error());
  Result<> removed = co_await app.dependencies->remove(std::move(*id));
  if (!removed) co_return refuse_layer(removed.error());
  co_return Response::empty(204);
}

Task<Response> prune_layers(App& app, Request& request, ResponseWriter&) {
  if (app.dependencies == nullptr) co_return refuse_layer(no_book());
  CO_TRY(PruneWish wish, parse_prune_request(request.body));
  const bool dry_run = wish.dry_run;
  auto report = co_await app.dependencies->prune(std::move(wish));
  if (!report) co_return refuse_layer(report.error());
  json::array removed;
  for (const std::string& id : report->removed) removed.emplace_back(id);
  const json::object body{
      {"removed", std::move(removed)}, {"bytes", report->bytes}, {"dry_run", dry_run}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> check_layer(App& app, Request& request, ResponseWriter&) {
  auto id = co_await whole_id(app, requested_layer(request));
  if (!id) co_return refuse_layer(id.error());
  auto report = co_await app.dependencies->check(*id);
  if (!report) co_return refuse_layer(report.error());
  const json::object body{{"id", *id},
                          {"intact", report->intact},
                          {"expected", report->expected},
                          {"found", report->found}};
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::control::routes
