// A process that was started here or found running: a pidfd, and the pid for display only.
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
  int output = -1;                         // becomes its standard output
};
// Starts a program in its own session, with /dev/null as input, our standard error as output (or
// `output`), default signal handlers, and no other descriptor than fd3.
Result<Process> start(const StartPlan& plan);

// By pidfd, so a reused pid is never signalled.
Result<> send_signal(const Process& process, int signal);
bool is_alive(const Process& process);

// How a process ended: "status 1", "signal 9". Known only for our own children.
struct ProcessEnding {
  std::string text = "ended";
  bool by_itself = false;  // with an exit status, not by a signal
};
ProcessEnding reap(const Process& process);

// Connects to a SEQPACKET socket.
Result<UniqueFd> connect_to(const std::string& path);

struct ListeningProcess {
  Process process;
  UniqueFd socket;  // connected to it
};
// The process that listens at `path`, if there is one.
std::optional<ListeningProcess> find_listener(const std::string& path);

// The process that holds the record lock on `fd`'s file, if there is one.
std::optional<Process> find_lock_holder(int fd);

}  // namespace glovebox::supervisor
