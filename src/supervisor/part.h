// One of the programs that are kept running: which process it is now, and when it is started again.
#pragma once

#include <chrono>
#include <string>

#include "supervisor/backoff.h"
#include "supervisor/process.h"

namespace glovebox::supervisor {

// A server says that it has lost a launcher or a gateway only some seconds later.
inline constexpr std::chrono::seconds kTooSoonToPart{6};
inline constexpr int kMostQuickPartings = 3;

class Part {
 public:
  explicit Part(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  bool is_running() const { return static_cast<bool>(process_); }
  pid_t pid() const { return process_.pid; }
  int pidfd() const { return process_.pidfd.get(); }
  bool is_due(Clock::time_point now) const { return !is_running() && now >= backoff_.due(); }
  Clock::time_point due() const { return backoff_.due(); }

  void run(Process process, Clock::time_point now);
  // After its pidfd became readable: it is over, and the wait for the next start begins.
  enum class Why : bool { kByItself, kWeStop };
  Ending end(Clock::time_point now, Why why);
  // A start that failed counts as an end.
  void failed(Clock::time_point now) { backoff_.ended(now); }
  void signal(int number) const;

 private:
  std::string name_;
  Process process_;
  Backoff backoff_;
};

}  // namespace glovebox::supervisor
