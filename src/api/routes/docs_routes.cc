#include "api/routes/docs_routes.h"

#include "api/docs_page.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

Response part_of_page(std::string_view text, const char* type) {
  Response response = Response::text(std::string(text));
  response.headers.set("Content-Type", type);
  response.headers.set("Content-Security-Policy", std::string(docs_content_policy()));
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("Referrer-Policy", "no-referrer");
  return response;
}

}  // namespace

std::span<const routing::RouteRow<DocsRoutes>> DocsRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<DocsRoutes> kRows[] = {
      {Method::kGet, "/openapi.yaml", routing::Access::kOperator, &DocsRoutes::openapi,
       "Get this contract"},
      {Method::kGet, "/openapi.json", routing::Access::kOperator, &DocsRoutes::openapi_as_json,
       "Get this contract as JSON"},
      {Method::kGet, "/docs", routing::Access::kOperator, &DocsRoutes::docs,
       "Show this contract as a web page"},
      {Method::kGet, "/docs/page.css", routing::Access::kOperator, &DocsRoutes::style,
       "Get the style of the web page"},
      {Method::kGet, "/docs/page.js", routing::Access::kOperator, &DocsRoutes::script,
       "Get the script of the web page"},
      {Method::kGet, "/", routing::Access::kOpen, &DocsRoutes::front_page,
       "Show where to find the documentation"},
  };
  return kRows;
}

Task<Response> DocsRoutes::front_page(Request&, ResponseWriter&) {
  co_return Response::text(
      "Glovebox " + deps_.version +
      ". The API is described at /docs, /openapi.yaml and /openapi.json; code goes to POST "
      "/v1/run.\n");
}

Task<Response> DocsRoutes::openapi(Request&, ResponseWriter&) {
  Response response = Response::text(std::string(openapi_text()));
  response.headers.set("Content-Type", "application/yaml; charset=utf-8");
  co_return response;
}

Task<Response> DocsRoutes::openapi_as_json(Request&, ResponseWriter&) {
  co_return Response::json(std::string(openapi_json()));
}

Task<Response> DocsRoutes::docs(Request&, ResponseWriter&) {
  co_return part_of_page(docs_page(), "text/html; charset=utf-8");
}

Task<Response> DocsRoutes::style(Request&, ResponseWriter&) {
  co_return part_of_page(docs_style(), "text/css; charset=utf-8");
}

Task<Response> DocsRoutes::script(Request&, ResponseWriter&) {
  co_return part_of_page(docs_script(), "text/javascript; charset=utf-8");
}

}  // namespace glovebox::api
