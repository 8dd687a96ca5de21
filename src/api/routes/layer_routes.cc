#include "api/routes/layer_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "packages/layer_request.h"
#include "packages/package_json.h"
#include "packages/package_plan.h"
#include "routing/refusals.h"
#include "routing/run_output.h"
#include "routing/sandbox_creation.h"
#include "templates/template_watcher.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

Response refuse_layer(const Error& error) {
  if (error.code() == Errc::kNotFound) {
    return Response::refuse(404, "layer_not_found", error.message());
  }
  if (error.code() == Errc::kConflict) {
    return Response::refuse(409, "layer_in_use", error.message());
  }
  if (error.code() == Errc::kUnavailable || error.code() == Errc::kTimeout ||
      error.code() == Errc::kUnsupported) {
    return routing::refuse_run(error);
  }
  return Response::from_error(error);
}

std::string requested_layer(const Request& request) { return std::string(request.param("id")); }

// The full id of a layer that an administrator named by a prefix of its id.
Task<std::string> whole_id(const LayerRoutes::Dependencies& deps, std::string said) {
  std::string any_project = "*";
  CO_TRY(packages::LayerView layer,
         co_await deps.packages.find(std::move(any_project), std::move(said)));
  co_return std::move(layer.record.id);
}

json::object made_json(const packages::LayerView& layer, const packages::PreparedPackages& made,
                       const std::string& project) {
  json::object body = packages::layer_json(layer, project);
  body["built"] = made.built;
  body["waited_ms"] = made.waited.count();
  if (!made.cold_because.empty()) body["cold_because"] = to_utf8(made.cold_because);
  return body;
}

Task<Response> stream_build(const LayerRoutes::Dependencies& deps, Request& request,
                            ResponseWriter& writer, packages::PackageSetRequest wanted_set,
                            std::shared_ptr<node::CancelFlag> cancel, routing::AnswerForm form) {
  routing::StreamingSink sink(writer, form);
  const std::string project = wanted_set.project;
  Result<packages::LayerView> layer = fail(Errc::kInternal, "not built");
  auto made = co_await deps.preparation.prepare(std::move(wanted_set), cancel, sink);
  if (made) layer = co_await deps.packages.find(project, made->layer_id);
  if (!made || !layer) {
    const Error& error = !made ? made.error() : layer.error();
    Response refusal = !made ? routing::refuse_packages(error) : refuse_layer(error);
    deps.metrics.count_refusal(routing::code_of(refusal), project);
    std::string data = routing::error_event_json(refusal, error.message(), request.id);
    co_return co_await sink.refuse(std::move(refusal), std::move(data));
  }
  std::string event = "layer";
  std::string data = json::serialize(made_json(*layer, *made, project));
  co_return co_await sink.respond(std::move(event), std::move(data));
}

// The packages of each have up to 16 KB.
constexpr std::size_t kShortLayerList = 16;

std::string layer_list_text(const std::vector<packages::LayerView>& views,
                            const std::string& project) {
  json::array list;
  for (const packages::LayerView& layer : views) {
    list.push_back(packages::layer_json(layer, project));
  }
  const json::object body{{"layers", std::move(list)}};
  return json::serialize(body) + "\n";
}

}  // namespace

std::span<const routing::RouteRow<LayerRoutes>> LayerRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<LayerRoutes> kRows[] = {
      {Method::kGet, "/v1/layers", routing::Access::kKey, &LayerRoutes::list_layers,
       "List the layers of installed packages"},
      {Method::kPost, "/v1/layers", routing::Access::kKey, &LayerRoutes::build_layer,
       "Install a set of packages in advance", routing::kSandboxBody},
      {Method::kPost, "/v1/layers/prune", routing::Access::kAdmin, &LayerRoutes::prune_layers,
       "Remove unused layers"},
      {Method::kGet, "/v1/layers/{id}", routing::Access::kKey, &LayerRoutes::get_layer,
       "Get a layer"},
      {Method::kDelete, "/v1/layers/{id}", routing::Access::kAdmin, &LayerRoutes::remove_layer,
       "Remove a layer"},
      {Method::kPost, "/v1/layers/{id}/check", routing::Access::kAdmin, &LayerRoutes::check_layer,
       "Verify the contents of a layer"},
  };
  return kRows;
}

Task<Response> LayerRoutes::list_layers(Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, deps_.authenticator.managed_project(request));
  auto layers = co_await deps_.packages.list(project);
  if (!layers) co_return refuse_layer(layers.error());
  const bool is_long = layers->size() > kShortLayerList;
  auto writing = [views = std::move(*layers), project] { return layer_list_text(views, project); };
  if (!is_long) co_return deps_.responses.respond(request.owner, writing());
  std::string body = co_await deps_.worker.run(request.owner, std::move(writing));
  co_return deps_.responses.respond(request.owner, std::move(body));
}

Task<Response> LayerRoutes::get_layer(Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, deps_.authenticator.managed_project(request));
  auto layer = co_await deps_.packages.find(project, requested_layer(request));
  if (!layer) co_return refuse_layer(layer.error());
  co_return Response::json(json::serialize(packages::layer_json(*layer, project)) + "\n");
}

Task<Response> LayerRoutes::build_layer(Request& request, ResponseWriter& writer) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of_one_project(request));
  CO_TRY(const packages::LayerRequest wanted, packages::parse_layer_request(request.body));
  co_await deps_.watcher.wait_until_known();
  auto chosen = packages::choose_template_with(deps_.node, &deps_.templates, caller.project,
                                               wanted.template_name, wanted.dependencies);
  if (!chosen) co_return routing::refuse_run(chosen.error());
  auto admission = deps_.usage.admit(caller.who, 0, std::chrono::steady_clock::now());
  if (!admission) {
    deps_.metrics.count_refusal("key_limit", caller.project);
    co_return routing::refuse_run(admission.error());
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  packages::PackageSetRequest wanted_set = std::move(*chosen->set);
  wanted_set.key_id = caller.who.key.str();
  wanted_set.resolve_now = wanted.refresh;
  const routing::AnswerForm form = routing::answer_form(request);
  if (form != routing::AnswerForm::kJson) {
    co_return co_await stream_build(deps_, request, writer, std::move(wanted_set), cancel, form);
  }
  auto made = co_await deps_.preparation.prepare(std::move(wanted_set), cancel);
  if (!made) {
    Response refusal = routing::refuse_packages(made.error());
    deps_.metrics.count_refusal(routing::code_of(refusal), caller.project);
    co_return refusal;
  }
  auto layer = co_await deps_.packages.find(caller.project, made->layer_id);
  if (!layer) co_return refuse_layer(layer.error());
  co_return Response::json(json::serialize(made_json(*layer, *made, caller.project)) + "\n");
}

Task<Response> LayerRoutes::remove_layer(Request& request, ResponseWriter&) {
  auto id = co_await whole_id(deps_, requested_layer(request));
  if (!id) co_return refuse_layer(id.error());
  Result<> removed = co_await deps_.packages.remove(std::move(*id));
  if (!removed) co_return refuse_layer(removed.error());
  co_return Response::empty(204);
}

Task<Response> LayerRoutes::prune_layers(Request& request, ResponseWriter&) {
  CO_TRY(const packages::PruneRequest prune, packages::parse_prune_request(request.body));
  auto report = co_await deps_.packages.prune(prune);
  if (!report) co_return refuse_layer(report.error());
  const json::object body = packages::pruned_json(report->removed, report->bytes, prune.dry_run);
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> LayerRoutes::check_layer(Request& request, ResponseWriter&) {
  auto id = co_await whole_id(deps_, requested_layer(request));
  if (!id) co_return refuse_layer(id.error());
  auto report = co_await deps_.packages.check(*id);
  if (!report) co_return refuse_layer(report.error());
  const json::object body{{"id", *id},
                          {"intact", report->intact},
                          {"expected", report->expected},
                          {"found", report->found}};
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
