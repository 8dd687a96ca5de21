#include "dialects/e2b/control/hosted_routes.h"

#include <string>

#include "dialects/e2b/error_form.h"

namespace glovebox::e2b {

std::span<const routing::RouteRow<HostedRoutes>> HostedRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<HostedRoutes> kRows[] = {
      {Method::kPost, "/v3/templates", Access::kKey, &HostedRoutes::refuse,
       "Not served, build a template (E2B)"},
      {Method::kPost, "/templates/tags", Access::kKey, &HostedRoutes::refuse,
       "Not served, tag a template (E2B)"},
      {Method::kGet, "/templates/{id}/{path*}", Access::kKey, &HostedRoutes::refuse,
       "Not served, builds, tags (E2B)"},
      {Method::kPost, "/volumes", Access::kKey, &HostedRoutes::refuse,
       "Not served, make a volume (E2B)"},
      {Method::kGet, "/volumes", Access::kKey, &HostedRoutes::refuse, "Not served, volumes (E2B)"},
      {Method::kGet, "/volumes/{id}", Access::kKey, &HostedRoutes::refuse,
       "Not served, one volume (E2B)"},
      {Method::kDelete, "/volumes/{id}", Access::kKey, &HostedRoutes::refuse,
       "Not served, remove a volume (E2B)"},
      {Method::kPost, "/secrets", Access::kKey, &HostedRoutes::refuse,
       "Not served, make a secret (E2B)"},
      {Method::kGet, "/secrets", Access::kKey, &HostedRoutes::refuse, "Not served, secrets (E2B)"},
      {Method::kGet, "/secrets/{id}", Access::kKey, &HostedRoutes::refuse,
       "Not served, one secret (E2B)"},
      {Method::kDelete, "/secrets/{id}", Access::kKey, &HostedRoutes::refuse,
       "Not served, remove a secret (E2B)"},
      {Method::kGet, "/teams", Access::kKey, &HostedRoutes::refuse, "Not served, teams (E2B)"},
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
