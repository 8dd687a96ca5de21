// POST /v1/functions/invoke: calls an AWS Lambda handler, given its source and an event, and
// answers with its value. It is a run like any other, with the same pools, limits and records; it
// runs the guest half of src/wire/functions/function_call.h.
#pragma once

#include <span>

#include "api/run_flow.h"
#include "http/message.h"
#include "images/image_service.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "runs/run_plan.h"
#include "templates/template_watcher.h"

namespace glovebox::api {

class FunctionRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    templates::TemplateWatcher& watcher;
    const runs::RunPlanner& planner;
    RunFlow& flow;
    images::ImageService& images;
    const templates::ProjectTemplates& templates;
    routing::Worker& worker;  // for large bodies
  };
  explicit FunctionRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<FunctionRoutes>> rows();

  Task<http::Response> invoke_function(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
