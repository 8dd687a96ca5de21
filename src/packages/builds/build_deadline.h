// How long a build may go on: until its deadline, or until nobody waits for it any more. Then
// whatever it is doing is cut off, and why is the error of all that follows.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>

#include "base/result.h"
#include "node/runs/run_job.h"

namespace glovebox::packages {

class BuildDeadline {
 public:
  using Clock = std::chrono::steady_clock;
  // Takes `cancel`'s on_cancel() for itself as long as it lives; null: nobody can cancel it.
  BuildDeadline(boost::asio::io_context& io, Clock::time_point deadline,
             std::shared_ptr<node::CancelFlag> cancel);
  ~BuildDeadline();
  BuildDeadline(const BuildDeadline&) = delete;
  BuildDeadline& operator=(const BuildDeadline&) = delete;

  // kTimeout, or kUnavailable: nobody waits for it.
  Result<> verdict() const;
  // The verdict, if there is one, is why this failed.
  Error reason(Error error) const;

  // `end` is called when it is over, once, unless this has gone; at once if it is over already.
  class Cut {
   public:
    Cut(BuildDeadline& watch, std::function<void()> end);
    ~Cut();
    Cut(const Cut&) = delete;
    Cut& operator=(const Cut&) = delete;

   private:
    std::shared_ptr<void> state_;
    std::list<std::function<void()>>::iterator at_;
    std::list<std::function<void()>>* cuts_;
  };

 private:
  struct State {
    explicit State(boost::asio::io_context& io) : timer(io) {}
    void end();
    boost::asio::steady_timer timer;
    std::list<std::function<void()>> cuts;
    bool is_late = false;
    bool is_cancelled = false;
    bool is_over() const { return is_late || is_cancelled; }
  };
  std::shared_ptr<State> state_;
  std::shared_ptr<node::CancelFlag> cancel_;
};

}  // namespace glovebox::packages
