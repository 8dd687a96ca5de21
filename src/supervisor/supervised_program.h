// One of the programs that the supervisor keeps running: its current process, and when it is
// started again after its end.
#pragma once

#include <chrono>
#include <string>

#include "supervisor/backoff.h"
#include "supervisor/process.h"

namespace glovebox::supervisor {

// A server reports a lost connection some seconds later, so one that is lost within this time never
// worked. After so many in a row the other program is replaced.
inline constexpr std::chrono::seconds kQuickLoss{6};
inline constexpr int kMaxQuickLosses = 3;

class SupervisedProgram {
 public:
  explicit SupervisedProgram(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  bool is_running() const { return static_cast<bool>(process_); }
  pid_t pid() const { return process_.pid; }
  int pidfd() const { return process_.pidfd.get(); }
  bool is_due(Clock::time_point now) const { return !is_running() && now >= backoff_.due(); }
  Clock::time_point due() const { return backoff_.due(); }

  // It runs as this process, started or adopted.
  void run(Process process, Clock::time_point now);
  // After its pidfd became readable: reaps it; the wait for the next start begins.
  enum class Cause : bool { kByItself, kStopped };
  ProcessEnding end(Clock::time_point now, Cause cause);
  // A start that failed counts as an end.
  void start_failed(Clock::time_point now) { backoff_.ended(now); }
  void signal(int number) const;

 private:
  std::string name_;
  Process process_;
  Backoff backoff_;
};

}  // namespace glovebox::supervisor
