// The API contract as OpenAPI and as an HTML page, and a pointer to them at the root.
#pragma once

#include <span>
#include <string>

#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::api {

class DocsRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const std::string& version;
  };
  explicit DocsRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<DocsRoutes>> rows();

  Task<http::Response> front_page(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> openapi(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> openapi_as_json(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> docs(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> style(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> script(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
