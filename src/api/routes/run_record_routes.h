// /v1/runs: the records of runs.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "store/store.h"

namespace glovebox::api {

class RunRecordRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    store::Store& store;
  };
  explicit RunRecordRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<RunRecordRoutes>> rows();

  Task<http::Response> list_runs(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_run(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
