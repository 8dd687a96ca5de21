// POST /v1/run/batch: one run done with many inputs. The answer is a stream of lines, one for each
// input, in the order in which they end; each input is a run of its own, with its own record.
#pragma once

#include <boost/asio/io_context.hpp>
#include <span>

#include "api/routes/run_routes.h"

namespace glovebox::api {

class BatchRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    boost::asio::io_context& io;
    RunRoutes& runs;
    RunFlow& flow;
    MemoryBudget& memory_budget;
    const routing::Authenticator& authenticator;
    routing::Worker& worker;  // for large bodies
  };
  explicit BatchRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<BatchRoutes>> rows();

  Task<http::Response> post_batch(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
