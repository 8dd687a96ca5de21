// /v1/templates: the templates of sandboxes and their states: the administrator's, for every
// project, and a project's own, which the project creates and removes here.
#pragma once

#include <span>

#include "http/message.h"
#include "node/runs/run_service.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "routing/template_requests.h"
#include "templates/project_templates.h"

namespace glovebox::api {

class TemplateRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    const node::RunService& node;
    templates::ProjectTemplates& templates;
    const routing::TemplateRequests& requests;
  };
  explicit TemplateRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<TemplateRoutes>> rows();

  Task<http::Response> create_template(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> delete_template(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_templates(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_template(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
