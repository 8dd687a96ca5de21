// Starts a program and measures the time from before the spawn until it was reaped: the time that a
// user waits for the command.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::bench {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

inline double ms_since(Clock::time_point began) {
  return Milliseconds(Clock::now() - began).count();
}

struct Command {
  std::vector<std::string> argv;  // argv[0] is a path
  std::vector<std::string> env;   // the whole environment
};

struct Timed {
  Milliseconds took{};
  int status = 0;  // from waitpid; 0 is success
};

// The standard streams are /dev/null, except `err` and `out` if they are descriptors.
Result<pid_t> start(const Command& command, int err = -1, int out = -1);
Result<Timed> run_timed(const Command& command);
int wait_for(pid_t pid);

// Runs it once and returns its standard error, to explain why it cannot run on this host.
struct Trial {
  bool worked = false;
  std::string message;
};
Trial try_once(const Command& command);

// Its standard output, up to a megabyte; an error if its status is not 0.
Result<std::string> output_of(const Command& command);

// Current resource usage of a process.
struct ProcessUsage {
  std::uint64_t descriptors = 0;
  std::uint64_t resident_kib = 0;
};
Result<ProcessUsage> usage_of(pid_t pid);

// A process that exits immediately, in the namespaces of a sandbox: the time that the kernel alone
// takes.
Result<Timed> empty_namespaces_timed();

}  // namespace glovebox::bench
