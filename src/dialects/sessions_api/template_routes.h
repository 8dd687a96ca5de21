// /api/v1/templates: the same templates, in the same form, as /v1/templates.
#pragma once

#include <span>

#include "base/task.h"
#include "http/message.h"
#include "routing/route_table.h"
#include "routing/template_requests.h"

namespace glovebox::sessions_api {

class TemplateRoutes {
 public:
  // `templates` is borrowed and outlives this.
  explicit TemplateRoutes(const routing::TemplateRequests& templates) : templates_(templates) {}

  static std::span<const routing::RouteRow<TemplateRoutes>> rows();

  Task<http::Response> list_templates(http::Request& request, http::ResponseWriter&) {
    return templates_.list(request);
  }
  Task<http::Response> create_template(http::Request& request, http::ResponseWriter&) {
    return templates_.create(request);
  }

 private:
  const routing::TemplateRequests& templates_;
};

}  // namespace glovebox::sessions_api
