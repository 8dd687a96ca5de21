// Starts the guest's program: pipes or a pty created inside the sandbox, one fork, and the failed
// step and errno that the child reports if it does not start.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "guest/agent/run/guest_child.h"
#include "guest/agent/run/runtime.h"
#include "guest/agent/run/serve.h"
#include "model/sandbox_spec.h"

namespace glovebox::agent {

struct StartedProgram {
  pid_t pid = 0;
  std::vector<UniqueFd> client_ends;  // stdin, stdout, stderr; or the pty's master
  UniqueFd master;                    // a copy, for resizing it
  UniqueFd job;                       // of a runtime
  UniqueFd socket;                    // of a runtime
};
struct ProgramFailure {
  std::string step;
  int error = 0;
};

// Exactly one of the two is filled: a failure has a step.
struct StartOutcome {
  StartedProgram started;
  ProgramFailure failure;
};

StartOutcome start_program(const ServePlan& plan, const ExecSpec& exec);
// A runtime as a program: with the streams and further descriptors that were made for it. One that
// is started ahead is not limited yet: the caller's limits come with the take.
enum class StartAhead : bool { kNo, kYes };
StartOutcome start_runtime(const ServePlan& plan, const ExecSpec& exec,
                           RuntimeDescriptors descriptors, StartAhead ahead);
// Sets a waiting runtime's limits, from outside.
Result<> limit_runtime(const ServePlan& plan, pid_t pid);

void resize_terminal(int master, TerminalSize size);

// ---- also used to start programs of sessions

// Both ends of a new pty; the slave belongs to the process's current file-system user.
bool open_terminal(TerminalSize size, UniqueFd& master, UniqueFd& slave);
// Like a shell: a name without a slash is searched in the program's own PATH.
std::string find_program(const ExecSpec& exec);
std::vector<RlimitEntry> rlimits_of(const ServePlan& plan);
// For execve; the strings are the caller's.
std::vector<char*> pointers_to(const std::vector<std::string>& strings);

}  // namespace glovebox::agent
