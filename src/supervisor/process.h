// A process of ours: a pidfd, and the pid only to be shown. Started here, or found living.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::supervisor {

struct Process {
  pid_t pid = 0;
  UniqueFd pidfd;
  bool is_child = false;
  explicit operator bool() const { return static_cast<bool>(pidfd); }
};

struct StartPlan {
  std::string program;
  std::vector<std::string> arguments{};    // without the program's own name
  std::vector<std::string> environment{};  // "NAME=value"; nothing else is inherited
  int fd3 = -1;                            // becomes its descriptor 3
};
// In a session of its own, with no input, its output on our standard error, default signals, and no
// descriptor of ours or of our caller's but these.
Result<Process> start(const StartPlan& plan);

// By pidfd: a pid that has been given to somebody else is never hit.
Result<> send_signal(const Process& process, int signal);
bool is_alive(const Process& process);

// How a process ended, once it has: "status 1", "signal 9". Nobody but its parent learns that.
struct Ending {
  std::string text = "ended";
  bool by_itself = false;  // with an exit status, not by a signal
};
Ending reap(const Process& process);

// Connects to a SEQPACKET socket.
Result<UniqueFd> connect_to(const std::string& path);

struct Found {
  Process process;
  UniqueFd socket;  // connected to it
};
// Who listens at `path`, or nothing if nobody does.
std::optional<Found> find_listener(const std::string& path);

// The process that holds the record lock on `fd`'s file, or nothing if nobody does.
std::optional<Process> find_lock_holder(int fd);

}  // namespace glovebox::supervisor
