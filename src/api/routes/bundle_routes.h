// PUT /v1/bundles/{digest}: bytes that later runs of the project name by their SHA-256.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "runs/bundle_store.h"

namespace glovebox::api {

class BundleRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    runs::BundleStore& bundles;
    routing::Worker& worker;  // for large bodies
  };
  explicit BundleRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<BundleRoutes>> rows();

  Task<http::Response> put_bundle(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
