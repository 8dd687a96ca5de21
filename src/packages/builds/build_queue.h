// Who is built next. One key is built once, however many ask for it: all of them wait for it and
// hear what it says, and one who comes late hears the last of it. So many at once, of which one
// project has all but one at most; the others wait, in turns between projects, and only so many of
// them.
//
// One that nobody waits for any more: in the queue it is taken out; under way it goes on, because
// whoever left will ask again and finds it done, unless somebody else's waits for its place.
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
  // Of what those who wait are told when there is no room: "builds of packages".
  std::string what = "builds of packages";
};

class BuildQueue {
 public:
  // What it came to: a layer's id.
  using Work = std::function<Task<std::string>(OnBuildProgress, std::shared_ptr<node::CancelFlag>)>;

  BuildQueue(asio::io_context& io, QueueOptions options);
  ~BuildQueue();

  // The work is called at most once, on a coroutine of its own, which may outlive all who wait;
  // what it needs lives as long as the io_context runs. kResourceExhausted: too many wait;
  // kUnavailable: cancelled, or the server stops.
  Task<std::string> build(std::string key, std::string project, Work work, OnBuildProgress say,
                          std::shared_ptr<node::CancelFlag> cancel);

  // Whose they are: of those who wait for it now or did before, in their order.
  std::vector<std::string> projects_of(const std::string& key) const;
  std::uint32_t building() const;
  std::uint32_t waiting() const;
  // Cancels all and takes no more.
  void stop();

 private:
  struct Build;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::packages
