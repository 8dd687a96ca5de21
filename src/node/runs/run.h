// One run, from the sandbox to the report. The asynchronous form of engine/one_shot.h: what a
// program can do to itself is an outcome, and only a failure of ours is an error.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "base/task.h"
#include "node/networks/networks.h"
#include "node/node_options.h"
#include "node/pools/pools.h"
#include "node/runs/run_job.h"

namespace glovebox::node {

// Runs under way, for the time after which we do not believe in their end any more.
class RunWatch {
 public:
  class Entry {
   public:
    virtual ~Entry() = default;
    virtual void look_at_clock(Clock::time_point now) = 0;
    virtual void stop() = 0;  // the server stops: end it
  };
  void add(Entry* entry) { entries_.push_back(entry); }
  void remove(Entry* entry) { std::erase(entries_, entry); }
  void look_at_clock(Clock::time_point now) {
    for (Entry* entry : entries_) entry->look_at_clock(now);
  }
  void stop() {
    for (Entry* entry : entries_) entry->stop();
  }

 private:
  std::vector<Entry*> entries_;
};

// What a run needs of its surroundings; all of it outlives the run.
struct RunPlace {
  boost::asio::io_context& io;
  Pools& pools;
  Networks& networks;
  RunWatch& watch;
  const NodeOptions& options;
};

Task<RunReport> run_job(RunPlace place, RunJob job, RunSink& sink,
                        std::shared_ptr<CancelFlag> cancel);

}  // namespace glovebox::node
