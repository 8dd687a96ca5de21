// Starting a program and timing it from just before the spawn to the moment it has been waited for:
// what a user who types the command waits.
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
  int status = 0;  // as waitpid says; 0 is success
};

// All three standard streams are /dev/null, but for those of `err` and `out` that are descriptors.
Result<pid_t> start(const Command& command, int err = -1, int out = -1);
Result<Timed> run_timed(const Command& command);
int wait_for(pid_t pid);

// Runs it once and returns what it wrote to standard error, for a subject that cannot run here.
struct Trial {
  bool worked = false;
  std::string message;
};
Trial try_once(const Command& command);

// What it writes to standard output, up to a megabyte; an error if it does not end well.
Result<std::string> output_of(const Command& command);

// What a process has at this moment.
struct ProcessUsage {
  std::uint64_t descriptors = 0;
  std::uint64_t resident_kib = 0;
};
Result<ProcessUsage> usage_of(pid_t pid);

// A process in the namespaces a sandbox has that does nothing but end: what the kernel alone takes.
Result<Timed> empty_namespaces_timed();

}  // namespace glovebox::bench
