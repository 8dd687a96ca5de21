// From a plan to its answer: the request's Idempotency-Key, the key's limits, the packages, the run
// itself, its record, and the answer, whole or as live events. One flow; where the output goes and
// how the end is answered is the RunResponder's.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/memory_budget.h"
#include "http/message.h"
#include "node/runs/run_service.h"
#include "packages/package_preparation.h"
#include "runs/metrics.h"
#include "runs/run_log.h"
#include "runs/run_plan.h"
#include "store/key.h"
#include "store/key_usage.h"
#include "wire/runs/run_answer.h"

namespace glovebox::api {

class RunResponder;

// The answer without its output, as JSON; called once, here or on the worker. It may change the
// exit code, which then is also the record's.
using ExitJson = std::function<std::string(wire::RunAnswer& answer)>;

class RunFlow {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    node::RunService& node;
    packages::PackagePreparation& packages;
    runs::RunLog& log;
    runs::Metrics& metrics;
    store::Store& store;
    store::KeyUsage& usage;
    MemoryBudget& memory_budget;
    asio::thread_pool& worker;  // for answers of many megabytes
  };
  explicit RunFlow(Dependencies dependencies) : deps_(dependencies) {}

  Task<http::Response> execute_run(http::Request& request, http::ResponseWriter& writer,
                                   store::Principal who, runs::RunPlan plan, ExitJson exit_json);

 private:
  Task<http::Response> run(http::Request& request, RunResponder& responder, runs::RunHeader run,
                           runs::RunPlan plan, ExitJson exit_json,
                           std::shared_ptr<node::CancelFlag> cancel);
  Task<http::Response> refuse(RunResponder& responder, const runs::RunHeader& run,
                              http::Response refusal, Error error);

  const Dependencies deps_;
};

}  // namespace glovebox::api
