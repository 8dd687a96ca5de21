// /v1/layers: installed package sets, each kept as one layer. Lists, shows, prebuilds, verifies and
// removes them.
#pragma once

#include <span>

#include "http/message.h"
#include "node/runs/run_service.h"
#include "packages/package_preparation.h"
#include "packages/package_service.h"
#include "routing/authenticator.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "runs/metrics.h"
#include "store/key_usage.h"
#include "templates/project_templates.h"
#include "templates/template_watcher.h"

namespace glovebox::api {

class LayerRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    const node::RunService& node;
    templates::ProjectTemplates& templates;
    packages::PackageService& packages;
    packages::PackagePreparation& preparation;
    templates::TemplateWatcher& watcher;
    store::KeyUsage& usage;
    runs::Metrics& metrics;
    routing::LargeResponses& responses;
    routing::Worker& worker;
  };
  explicit LayerRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<LayerRoutes>> rows();

  Task<http::Response> list_layers(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_layer(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> build_layer(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> remove_layer(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> prune_layers(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> check_layer(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
