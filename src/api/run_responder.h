// How a run is answered: one JSON object when it has ended, or live events as it goes. A sink for
// the run's output that also writes its end.
#pragma once

#include <memory>
#include <string>

#include "base/memory_budget.h"
#include "base/task.h"
#include "http/message.h"
#include "model/outcome.h"
#include "packages/package_preparation.h"
#include "routing/run_output.h"

namespace glovebox::api {

class RunResponder {
 public:
  virtual ~RunResponder() = default;

  virtual node::RunSink& sink() = 0;
  // Where the progress of a build of packages is shown; null: it is not.
  virtual packages::ProgressSink* progress() { return nullptr; }
  // Whether the answer has begun: then it can only end as it began.
  virtual bool begun() const { return false; }
  // Whether the answer holds the output too.
  virtual bool is_whole() const = 0;
  // Puts what was kept of the output into the outcome, for the record and for a whole answer.
  virtual void take_output(Outcome& outcome) = 0;
  // The run has ended: its answer without output and, when whole, with it.
  virtual Task<http::Response> finish(std::string exit_json, std::string whole_json) = 0;
  // It did not run. `error_json` is the event that ends a stream.
  virtual Task<http::Response> refuse(http::Response refusal, std::string error_json) = 0;
};

// By the request's Accept header. Everything borrowed outlives it.
std::unique_ptr<RunResponder> make_responder(routing::AnswerForm form, MemoryBudget& budget,
                                             http::ResponseWriter& writer);

}  // namespace glovebox::api
