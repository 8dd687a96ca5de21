// Counts events in all processes of a server, by their role, between two points in time.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "bench/profile/perf_counter.h"
#include "bench/profile/server_processes.h"

namespace glovebox::bench {

using Counts = std::array<std::optional<double>, kEvents>;  // by Event; CPU time in nanoseconds
using CountsByRole = std::array<Counts, kRoles>;            // by Role

class ServerCounters {
 public:
  // Begins to count. A process that starts later counts for the role of the one that started it:
  // agents for their broker, interpreters for their zygote.
  static ServerCounters start(const ServerPids& pids, const std::vector<Event>& events);

  // What was counted until now. An event that cannot be counted is left out; without the kernel's
  // counters, there is CPU time of those processes that have lived since the start.
  CountsByRole read() const;
  // Why something is left out; empty: nothing is.
  const std::vector<std::string>& gaps() const { return gaps_; }

 private:
  struct Counter {
    Role role;
    Event event;
    UniqueFd fd;
  };
  struct Clocked {
    Role role;
    pid_t pid;
    std::chrono::nanoseconds begin;
  };
  void count(const std::vector<ServerProcess>& processes, Event event,
             const Tracepoints* tracepoints);
  void clock(const std::vector<ServerProcess>& processes);

  std::vector<Counter> counters_;
  std::vector<Clocked> clocked_;
  std::vector<std::string> gaps_;
};

}  // namespace glovebox::bench
