#include "dialects/e2b/control/hosted_routes.h"

#include <string>

#include "dialects/e2b/error_form.h"

namespace glovebox::e2b {

std::span<const routing::RouteRow<HostedRoutes>> HostedRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<HostedRoutes> kRows[] = {
      {Method::kPost, "/v3/templates", Access::kKey, &HostedRoutes::refuse,
       "Build a template (E2B, not supported)"},
      {Method::kPost, "/templates/tags", Access::kKey, &HostedRoutes::refuse,
       "Tag a template (E2B, not supported)"},
      {Method::kDelete, "/templates/tags", Access::kKey, &HostedRoutes::refuse,
       "Remove tags of a template (E2B, not supported)"},
      {Method::kGet, "/templates/{id}", Access::kKey, &HostedRoutes::refuse,
       "Get the builds of a template (E2B, not supported)"},
      {Method::kPatch, "/templates/{id}", Access::kKey, &HostedRoutes::refuse,
       "Publish a template (E2B, not supported)"},
      {Method::kPatch, "/v2/templates/{id}", Access::kKey, &HostedRoutes::refuse,
       "Publish a template (E2B, newer clients, not supported)"},
      {Method::kPost, "/v2/templates/{id}/builds/{build}", Access::kKey, &HostedRoutes::refuse,
       "Start the build of a template (E2B, not supported)"},
      {Method::kGet, "/templates/{id}/{path*}", Access::kKey, &HostedRoutes::refuse,
       "Get the builds and tags of a template (E2B, not supported)"},
      {Method::kPost, "/volumes", Access::kKey, &HostedRoutes::refuse,
       "Create a volume (E2B, not supported)"},
      {Method::kGet, "/volumes", Access::kKey, &HostedRoutes::refuse,
       "List volumes (E2B, not supported)"},
      {Method::kGet, "/volumes/{id}", Access::kKey, &HostedRoutes::refuse,
       "Get a volume (E2B, not supported)"},
      {Method::kDelete, "/volumes/{id}", Access::kKey, &HostedRoutes::refuse,
       "Remove a volume (E2B, not supported)"},
      {Method::kPost, "/secrets", Access::kKey, &HostedRoutes::refuse,
       "Create a secret (E2B, not supported)"},
      {Method::kGet, "/secrets", Access::kKey, &HostedRoutes::refuse,
       "List secrets (E2B, not supported)"},
      {Method::kGet, "/secrets/{id}", Access::kKey, &HostedRoutes::refuse,
       "Get a secret (E2B, not supported)"},
      {Method::kDelete, "/secrets/{id}", Access::kKey, &HostedRoutes::refuse,
       "Remove a secret (E2B, not supported)"},
      {Method::kGet, "/teams", Access::kKey, &HostedRoutes::refuse,
       "List teams (E2B, not supported)"},
  };
  return kRows;
}

Task<http::Response> HostedRoutes::refuse(http::Request& request, http::ResponseWriter&) {
  const std::string method(http::method_name(request.method));
  co_return refusal(501,
                    method + " " + request.route +
                        ": this is a feature of E2B's hosted service; docs/api/e2b.md says what "
                        "a Glovebox server has instead");
}

}  // namespace glovebox::e2b
