#include "api/routes/template_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "routing/template_json.h"
namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

Response no_such_template() {
  return Response::refuse(404, "template_not_found", "there is no such template");
}

}  // namespace

std::span<const routing::RouteRow<TemplateRoutes>> TemplateRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<TemplateRoutes> kRows[] = {
      {Method::kGet, "/v1/templates", routing::Access::kKey, &TemplateRoutes::list_templates,
       "List the templates for sandboxes"},
      {Method::kPost, "/v1/templates", routing::Access::kKey, &TemplateRoutes::create_template,
       "Create a template for your project", routing::kSandboxBody},
      {Method::kGet, "/v1/templates/{name}", routing::Access::kKey, &TemplateRoutes::get_template,
       "Get a template and its state"},
      {Method::kDelete, "/v1/templates/{name}", routing::Access::kKey,
       &TemplateRoutes::delete_template, "Remove a template of your project"},
  };
  return kRows;
}

Task<Response> TemplateRoutes::create_template(Request& request, ResponseWriter&) {
  co_return co_await deps_.requests.create(request);
}

Task<Response> TemplateRoutes::delete_template(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  std::string name(request.param("name"));
  if (deps_.templates.find(caller.project, name) == nullptr) {
    // The administrator's templates are visible to every project.
    if (deps_.node.find_template(name) == nullptr) co_return no_such_template();
    co_return Response::refuse(
        403, "policy", "the template belongs to the administrator and cannot be removed here");
  }
  std::string project = caller.project;
  Result<> removed = co_await deps_.templates.remove(std::move(project), std::move(name));
  if (!removed) co_return routing::refuse_template(removed.error());
  co_return Response::empty(204);
}

Task<Response> TemplateRoutes::list_templates(Request& request, ResponseWriter&) {
  co_return co_await deps_.requests.list(request);
}

Task<Response> TemplateRoutes::get_template(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  const std::string name(request.param("name"));
  if (const store::TemplateRecord* made = deps_.templates.find(caller.project, name)) {
    co_return Response::json(
        json::serialize(routing::project_template_json(deps_.templates, *made)) + "\n");
  }
  const TemplateStatus* status = deps_.node.find_template(name);
  if (status == nullptr) co_return no_such_template();
  co_return Response::json(json::serialize(routing::template_json(*status)) + "\n");
}

}  // namespace glovebox::api
