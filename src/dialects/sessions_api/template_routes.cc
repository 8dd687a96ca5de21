#include "dialects/sessions_api/template_routes.h"

namespace glovebox::sessions_api {

std::span<const routing::RouteRow<TemplateRoutes>> TemplateRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<TemplateRoutes> kRows[] = {
      {Method::kGet, "/api/v1/templates", Access::kKey, &TemplateRoutes::list_templates,
       "List the templates for sessions"},
      {Method::kPost, "/api/v1/templates", Access::kKey, &TemplateRoutes::create_template,
       "Create a template for your project"},
  };
  return kRows;
}

}  // namespace glovebox::sessions_api
