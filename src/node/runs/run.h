// One run, from the request for a sandbox to the report, with a second attempt in another sandbox
// if the first failed before any of the caller's code ran. The asynchronous form of
// engine/one_shot.h: what a program does to itself is an outcome; an error means that we failed.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "base/task.h"
#include "node/networks/networks.h"
#include "node/node_options.h"
#include "node/pools/sandbox_allocator.h"
#include "node/runs/run_job.h"

namespace glovebox::node {

// A run under way, as a timer and a stopping server see it.
class ActiveRun {
 public:
  virtual ~ActiveRun() = default;
  virtual void check_deadlines(Clock::time_point now) = 0;
  virtual void stop() = 0;  // the server stops: end it
};

// The runs under way. A run adds and removes itself.
class ActiveRuns {
 public:
  void add(ActiveRun* run) { runs_.push_back(run); }
  void remove(ActiveRun* run) { std::erase(runs_, run); }
  void check_deadlines(Clock::time_point now) {
    for (ActiveRun* run : runs_) run->check_deadlines(now);
  }
  void stop() {
    for (ActiveRun* run : runs_) run->stop();
  }

 private:
  std::vector<ActiveRun*> runs_;
};

// What a run needs of its host; all of it outlives the run.
struct RunContext {
  boost::asio::io_context& io;
  SandboxAllocator& allocator;
  Networks& networks;
  ActiveRuns& active_runs;
  const NodeOptions& options;
};

Task<RunReport> run_job(RunContext context, RunJob job, RunSink& sink,
                        std::shared_ptr<CancelFlag> cancel);

}  // namespace glovebox::node
