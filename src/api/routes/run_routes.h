// POST /v1/run: runs code and answers with its result. run_flow.cc has the steps from the plan to
// the answer.
#pragma once

#include <span>

#include "api/run_flow.h"
#include "http/message.h"
#include "images/image_service.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "runs/bundle_store.h"
#include "runs/run_plan.h"
#include "templates/template_watcher.h"

namespace glovebox::api {

class RunRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    templates::TemplateWatcher& watcher;
    const runs::RunPlanner& planner;
    RunFlow& flow;
    images::ImageService& images;
    const templates::ProjectTemplates& templates;
    runs::BundleStore& bundles;
    routing::Worker& worker;  // for large bodies
  };
  explicit RunRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<RunRoutes>> rows();

  Task<http::Response> post_run(http::Request& request, http::ResponseWriter& writer);

  // What a run of this caller needs, or how the request is refused.
  using Planned = tl::expected<runs::RunPlan, http::Response>;
  boost::asio::awaitable<Planned> plan_run(wire::RunRequest wanted, const store::Principal& who);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
