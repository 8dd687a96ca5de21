// Ends a build at its deadline or when it is cancelled: the current operation is cut off, and the
// reason is the error of everything that follows.
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
  // Uses `cancel`'s on_cancel() exclusively while it lives; null: it cannot be cancelled.
  BuildDeadline(boost::asio::io_context& io, Clock::time_point deadline,
                std::shared_ptr<node::CancelFlag> cancel);
  ~BuildDeadline();
  BuildDeadline(const BuildDeadline&) = delete;
  BuildDeadline& operator=(const BuildDeadline&) = delete;

  // kTimeout: the deadline is over; kUnavailable: cancelled.
  Result<> verdict() const;
  // The verdict if it is an error, since it caused this failure; else `error`.
  Error reason(Error error) const;

  // Calls `end` once when the build is over, or at once if it is over already; not after this is
  // destroyed.
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
