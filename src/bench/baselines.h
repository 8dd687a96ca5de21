// The same work by other means: bwrap, runc, docker, and the kernel alone.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "bench/process.h"
#include "bench/statistics.h"

namespace glovebox::bench {

// A sandbox with the same files as ours, in as few mounts as bwrap can have them.
Command bwrap(const std::vector<std::string>& program, const std::string& etc = "/etc");

// Empty when it runs here, else why not.
std::string unavailable_reason(const Command& command);

// The command for a container of a Python image that is on this machine already, or why there is
// none. Nothing is ever pulled.
struct Docker {
  Command command;
  std::string skipped;
};
Docker docker_python(const std::vector<std::string>& program);
// A container of the same image that only lives, and programs executed in it.
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

// One after another, with a pause that lets the kernel take the last one down.
Round run_in_turn(const std::function<Result<Timed>()>& run, unsigned calls);
// So many loops side by side, without a pause.
Round run_side_by_side(const Command& command, unsigned loops, std::chrono::milliseconds time);

// A process that does nothing but end.
Result<Timed> empty_process_timed();

}  // namespace glovebox::bench
