// Answers a run or a cell: with one JSON object when it has ended, or with live events. A sink for
// its output that also writes the end of the answer.
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
  // Shows the progress of a package build; null: the answer does not show it.
  virtual packages::ProgressSink* progress() { return nullptr; }
  // Whether the answer has begun. Then its status and form cannot change.
  virtual bool begun() const { return false; }
  // Whether the answer includes the output.
  virtual bool is_whole() const = 0;
  // Moves the output that was kept into the outcome, for the record and for a complete answer.
  virtual void take_output(Outcome& outcome) = 0;
  // The run has ended: its answer without output and, if complete, with it.
  virtual Task<http::Response> finish(std::string exit_json, std::string whole_json) = 0;
  // It did not run. `error_json` is the event that ends a stream.
  virtual Task<http::Response> refuse(http::Response refusal, std::string error_json) = 0;
};

// Chosen by the request's Accept header. All arguments outlive it.
std::unique_ptr<RunResponder> make_responder(routing::AnswerForm form, MemoryBudget& budget,
                                             const std::string& owner,
                                             http::ResponseWriter& writer);

}  // namespace glovebox::api
