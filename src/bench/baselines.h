// Baselines: the same work with bwrap, runc and docker, and with the kernel alone.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "bench/process.h"
#include "bench/statistics.h"

namespace glovebox::bench {

// A sandbox with the same files as a Glovebox sandbox, in as few mounts as possible.
Command bwrap(const std::vector<std::string>& program, const std::string& etc = "/etc");

// Empty if the command runs on this host; else the reason.
std::string unavailable_reason(const Command& command);

// The command for a container of a Python image that is present on this machine, or why there is
// none. Nothing is pulled.
struct Docker {
  Command command;
  std::string skipped;
};
Docker docker_python(const std::vector<std::string>& program);
// A container of the same image that stays alive, and programs executed in it.
Docker docker_container();
class DockerContainer {
 public:
  explicit DockerContainer(Command start) : start_(std::move(start)) {}
  ~DockerContainer();
  DockerContainer(const DockerContainer&) = delete;
  DockerContainer& operator=(const DockerContainer&) = delete;
  Round exec_in_turn(unsigned calls);

 private:
  Command start_;
  bool started_ = false;
};

// Sequential calls, with pauses for the kernel's cleanup.
Round run_in_turn(const std::function<Result<Timed>()>& run, unsigned calls);
// Concurrent loops without pauses.
Round run_side_by_side(const Command& command, unsigned loops, std::chrono::milliseconds time);

// A process that exits immediately.
Result<Timed> empty_process_timed();

}  // namespace glovebox::bench
