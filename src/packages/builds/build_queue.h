// The queue of builds. Concurrent requests for one key share one build: all wait for it and get its
// progress, and a late one gets the most recent lines first. The number of running builds is
// limited, and one project never has all slots. Other builds wait in a bounded queue that is fair
// between projects.
//
// A build without waiters is removed if it is still queued. If it is running, it continues, because
// the client will probably ask again; it is cancelled if another build needs its slot.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "node/runs/run_job.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {

struct QueueOptions {
  std::uint32_t at_once = 2;
  std::uint32_t max_waiting = 64;
  std::uint32_t max_waiting_of_one = 16;  // project
  // What the queue holds, for the error when it is full.
  std::string what = "builds of packages";
};

class BuildQueue {
 public:
  // Returns the id of a layer.
  using Work = std::function<Task<std::string>(OnBuildProgress, std::shared_ptr<node::CancelFlag>)>;

  BuildQueue(asio::io_context& io, QueueOptions options);
  ~BuildQueue();

  // Calls the work at most once, on a coroutine of its own that may outlive all waiters; what it
  // needs must live as long as the io_context runs. kResourceExhausted: too many builds wait;
  // kUnavailable: cancelled, or the server is stopping.
  Task<std::string> build(std::string key, std::string project, Work work, OnBuildProgress report,
                          std::shared_ptr<node::CancelFlag> cancel);

  // The projects of all its waiters, current and former, in order.
  std::vector<std::string> projects_of(const std::string& key) const;
  std::uint32_t building() const;
  std::uint32_t waiting() const;
  // Cancels all builds and accepts no more.
  void stop();

 private:
  struct Build;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::packages
