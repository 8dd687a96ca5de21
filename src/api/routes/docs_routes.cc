#include "api/routes/docs_routes.h"

#include "api/docs_page.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;

std::span<const routing::RouteRow<DocsRoutes>> DocsRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<DocsRoutes> kRows[] = {
      {Method::kGet, "/openapi.yaml", routing::Access::kOperator, &DocsRoutes::openapi,
       "Get this contract"},
      {Method::kGet, "/docs", routing::Access::kOperator, &DocsRoutes::docs,
       "Show this contract as a web page"},
      {Method::kGet, "/", routing::Access::kOpen, &DocsRoutes::front_page,
       "Show where to find the documentation"},
  };
  return kRows;
}

Task<Response> DocsRoutes::front_page(Request&, ResponseWriter&) {
  co_return Response::text("Glovebox " + deps_.version +
                           ". The API is described at /docs and /openapi.yaml; code goes to POST "
                           "/v1/run.\n");
}

Task<Response> DocsRoutes::openapi(Request&, ResponseWriter&) {
  Response response = Response::text(std::string(openapi_text()));
  response.headers.set("Content-Type", "application/yaml; charset=utf-8");
  co_return response;
}

Task<Response> DocsRoutes::docs(Request&, ResponseWriter&) {
  Response response = Response::text(docs_page());
  response.headers.set("Content-Type", "text/html; charset=utf-8");
  response.headers.set("Content-Security-Policy", docs_content_policy());
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("Referrer-Policy", "no-referrer");
  co_return response;
}

}  // namespace glovebox::api
