#include "routing/template_requests.h"

#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "packages/package_plan.h"
#include "routing/refusals.h"
#include "routing/template_json.h"
#include "store/over_quota.h"
#include "templates/template_request.h"

namespace glovebox::routing {
namespace {

namespace json = boost::json;
using http::Request;
using http::Response;

// The packages or the image of a template that is being created.
struct TemplatePackages {
  packages::PackagePreparation& preparation;
  std::shared_ptr<node::CancelFlag> cancel;
  std::optional<ImageUse> image{};
  bool failed = false;
  std::shared_ptr<void> hold{};  // until the template is stored

  Task<> prepare(store::TemplateRecord& made) {
    packages::PackageSetRequest wanted;
    wanted.project = made.project;
    wanted.key_id = made.key_id;
    wanted.definition = made.definition;
    if (image) wanted.definition = packages::image_definition(made.definition, *image);
    wanted.dependencies = made.dependencies;
    auto prepared = co_await preparation.prepare(std::move(wanted), cancel);
    failed = !prepared;
    if (!prepared) co_return fail(std::move(prepared.error()));
    if (!image) made.layer = prepared->layer_id;
    hold = std::move(prepared->hold);
    co_return Result<>();
  }
};

}  // namespace

Response refuse_template(const Error& error, std::chrono::seconds wait) {
  if (error.code() == Errc::kConflict) {
    return Response::refuse(409, "template_exists", error.message());
  }
  if (store::is_over_quota(error)) return Response::refuse(507, "disk_full", error.message());
  if (error.code() == Errc::kResourceExhausted) {
    Response response = Response::refuse(429, "template_limit", error.message());
    if (wait.count() > 0) response.headers.set("Retry-After", std::to_string(wait.count()));
    return response;
  }
  return refuse_run(error);
}

Response TemplateRequests::created(const store::TemplateRecord& made) const {
  const json::object body = project_template_json(deps_.templates, made);
  Response response = Response::json(json::serialize(body) + "\n", 201);
  response.headers.set("Location", "/v1/templates/" + made.name);
  return response;
}

Task<Response> TemplateRequests::list(const Request& request) const {
  CO_TRY(const Caller caller, deps_.authenticator.caller_of(request));
  json::array list;
  for (const TemplateStatus& status : deps_.node.templates()) {
    if (deps_.templates.find(caller.project, status.description.name) != nullptr) continue;
    list.push_back(template_json(status));
  }
  for (const store::TemplateRecord& made : deps_.templates.list(caller.project)) {
    list.push_back(project_template_json(deps_.templates, made));
  }
  const json::object body{{"templates", std::move(list)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> TemplateRequests::create(Request& request) const {
  CO_TRY(Caller caller, deps_.authenticator.caller_of_one_project(request));
  CO_TRY(store::TemplateRecord wanted, templates::parse_template_request(request.body));
  wanted.project = caller.project;
  wanted.key_id = caller.who.key.str();
  co_await deps_.watcher.wait_until_known();
  if (wanted.snapshot.empty()) {
    co_return co_await create_of_base(request, std::move(caller), std::move(wanted));
  }
  const auto made = co_await create_of_snapshot(std::move(wanted));
  if (made) co_return created(*made);
  if (made.error().code() == Errc::kNotFound) co_return Response::from_error(made.error());
  const auto now = std::chrono::steady_clock::now();
  co_return refuse_template(made.error(), deps_.templates.wait_of(caller.project, now));
}

// A template that refers to a snapshot of the same project, as long as the snapshot exists.
Task<store::TemplateRecord> TemplateRequests::create_of_snapshot(
    store::TemplateRecord wanted) const {
  const std::string project = wanted.project;
  const std::string name = wanted.name;
  const std::string id = wanted.snapshot;
  CO_TRY(const store::SnapshotRecord snapshot, deps_.snapshots.find(project, id));
  wanted.definition.from = snapshot.template_name;
  templates::ProjectTemplates::Define define = [](store::TemplateRecord&) -> Task<> {
    co_return Result<>();
  };
  CO_TRY(store::TemplateRecord made,
         co_await deps_.templates.create(std::move(wanted), std::move(define)));
  // A request that removed the snapshot meanwhile has not seen this template.
  if (auto still = deps_.snapshots.find(project, id); !still) {
    (void)co_await deps_.templates.remove(project, name);
    co_return fail(std::move(still.error()));
  }
  co_return made;
}

Task<Response> TemplateRequests::create_of_base(Request& request, Caller caller,
                                                store::TemplateRecord wanted) const {
  const TemplateStatus* base = deps_.node.find_template(wanted.definition.from);
  const Template* described = base != nullptr ? &base->description : nullptr;
  const auto checked = templates::check_memory_of(caller.who.limits, wanted.definition, described);
  if (!checked) co_return Response::refuse(403, "key_limit", checked.error().message());
  TemplatePackages wanted_packages{deps_.preparation, std::make_shared<node::CancelFlag>()};
  templates::ProjectTemplates::Define define;
  if (!wanted.image_name.empty()) {
    auto image = co_await deps_.images.use(caller.project, wanted.image_name);
    if (!image) co_return refuse_image_use(image.error());
    wanted.definition.image = image->layer;
    wanted_packages.image = std::move(*image);
    request.on_disconnect([cancel = wanted_packages.cancel] { cancel->cancel(); });
    define = [&wanted_packages](store::TemplateRecord& record) {
      return wanted_packages.prepare(record);
    };
  } else if (!wanted.dependencies.empty()) {
    const auto fits = packages::choose_template_with(deps_.node, nullptr, caller.project,
                                                     wanted.definition.from, wanted.dependencies);
    if (!fits) co_return refuse_run(fits.error());
    request.on_disconnect([cancel = wanted_packages.cancel] { cancel->cancel(); });
    define = [&wanted_packages](store::TemplateRecord& record) {
      return wanted_packages.prepare(record);
    };
  }
  const auto made = co_await deps_.templates.create(std::move(wanted), std::move(define));
  if (made) co_return created(*made);
  if (wanted_packages.failed) co_return refuse_packages(made.error());
  const auto now = std::chrono::steady_clock::now();
  co_return refuse_template(made.error(), deps_.templates.wait_of(caller.project, now));
}

}  // namespace glovebox::routing
