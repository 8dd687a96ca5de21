// Runs a plan and answers the request: checks the Idempotency-Key and the key's limits, prepares
// the packages, runs the job, records it, and answers with one object or with live events. The
// RunResponder decides where the output goes and how the answer ends.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/memory_budget.h"
#include "http/message.h"
#include "node/runs/run_service.h"
#include "packages/package_preparation.h"
#include "routing/worker.h"
#include "runs/metrics.h"
#include "runs/run_log.h"
#include "runs/run_plan.h"
#include "store/key.h"
#include "store/key_usage.h"
#include "wire/runs/run_answer.h"

namespace glovebox::api {

class RunResponder;

// The answer without its output, as JSON; called once, here or on the worker. It may change the
// exit code, and the record then has the changed one.
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
    routing::Worker& worker;  // for answers of many megabytes
  };
  explicit RunFlow(Dependencies dependencies) : deps_(dependencies) {}

  Task<http::Response> execute_run(http::Request& request, http::ResponseWriter& writer,
                                   store::Principal who, runs::RunPlan plan, ExitJson exit_json);
  // One of many runs of a request, each with a record of its own. The answer is the responder's.
  Task<http::Response> execute_part(http::Request& request, RunResponder& responder,
                                    const store::Principal& who, runs::RunPlan plan,
                                    ExitJson exit_json, std::shared_ptr<node::CancelFlag> cancel);

 private:
  Task<http::Response> run(http::Request& request, RunResponder& responder, runs::RunHeader run,
                           runs::RunPlan plan, ExitJson exit_json,
                           std::shared_ptr<node::CancelFlag> cancel);
  Task<http::Response> refuse(RunResponder& responder, const runs::RunHeader& run,
                              http::Response refusal, Error error);

  const Dependencies deps_;
};

}  // namespace glovebox::api
