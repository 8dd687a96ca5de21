// The contract: for programs, for people, and a hint for whoever opens the root.
#include "api/docs_page.h"
#include "api/handlers.h"

namespace glovebox::api {

Task<Response> front_page(routing::App& app, Request&, ResponseWriter&) {
  co_return Response::text("Glovebox " + app.settings.version +
                           ". The API is described at /docs and /openapi.yaml; code goes to POST "
                           "/v1/run.\n");
}

Task<Response> openapi(routing::App&, Request&, ResponseWriter&) {
  Response response = Response::text(std::string(openapi_text()));
  response.headers.set("Content-Type", "application/yaml; charset=utf-8");
  co_return response;
}

Task<Response> docs(routing::App&, Request&, ResponseWriter&) {
  Response response = Response::text(docs_page());
  response.headers.set("Content-Type", "text/html; charset=utf-8");
  response.headers.set("Content-Security-Policy", docs_content_policy());
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("Referrer-Policy", "no-referrer");
  co_return response;
}

}  // namespace glovebox::api
